"""A log with people in it, as marks make it, and the same as a plain set."""

import io
from collections.abc import Iterable
from datetime import date
from random import Random

from django.core.management import call_command

from accounts.models import User
from loginlog import numbers, services
from loginlog.days import days
from mirror.recorder import Recording
from tests.support.loginlog.naive import Mark

TYPES = ("client", "office")


def people(count: int) -> list[User]:
    """So many users, ready to log in."""
    numbers.known.clear()
    return [User.objects.create_user(f"reader {n}") for n in range(count)]


def mark(marks: Iterable[Mark]) -> None:
    """Mark all of these, in a Redis that has lost nothing."""
    call_command("backup", "restore", "loginlog", stdout=io.StringIO(), stderr=io.StringIO())
    services.mark_many((user, kind, day) for day, kind, user in sorted(marks))


def some_marks(users: Iterable[User], first: date, last: date, seed: int = 1) -> set[Mark]:
    """Marks on random days, of random types: some come daily, others seldom."""
    random = Random(seed)
    made: set[Mark] = set()
    for user in users:
        keen, start = random.random(), random.choice(days(first, last))
        made |= {(day, random.choice(TYPES), user.pk) for day in days(start, last) if random.random() < keen}
    return made


def marked_days(marks: Iterable[Mark], user: User) -> set[date]:
    """The days of one user."""
    return {day for day, _, pk in marks if pk == user.pk}


def trips(seen: Recording) -> int:
    """Round trips in which the login log's keys were asked for."""
    found = {c.trip for c in seen.commands if any("loginL" in k or "loginD" in k or "loginlog" in k for k in c.named())}
    return len(found)
