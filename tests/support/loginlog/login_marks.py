"""Fill the login log, and keep the same marks as a plain set."""

from collections.abc import Iterable
from datetime import date
from random import Random

from accounts.models import User
from loginlog import services
from loginlog.days import list_days
from mirror.redis.recorder import Recording
from tests.support.loginlog.naive import Mark
from tests.support.loginlog.tools import mirror_logins

TYPES = ("client", "office")


def make_users(count: int) -> list[User]:
    """Create ``count`` users."""
    return [User.objects.create_user(f"reader {n}") for n in range(count)]


def write_marks(marks: Iterable[Mark]) -> None:
    """Write these marks, and mirror them."""
    services.mark_logins((user, kind, day) for day, kind, user in sorted(marks))
    mirror_logins()


def random_marks(users: Iterable[User], first: date, last: date, seed: int = 1) -> set[Mark]:
    """Return random marks of random types: some users log in daily, others rarely."""
    random = Random(seed)
    made: set[Mark] = set()
    for user in users:
        keen, start = random.random(), random.choice(list_days(first, last))
        made |= {(day, random.choice(TYPES), user.pk) for day in list_days(start, last) if random.random() < keen}
    return made


def marked_days(marks: Iterable[Mark], user: User) -> set[date]:
    """Return the days on which one user was marked."""
    return {day for day, _, pk in marks if pk == user.pk}


def count_round_trips(seen: Recording) -> int:
    """Return the number of round trips that read keys of the login log."""
    found = {c.trip for c in seen.commands if any("loginL" in k or "loginD" in k or "loginlog" in k for k in c.named())}
    return len(found)
