"""Readers for ``make demo`` with half a year of logins up to today: the same people and habits on every machine."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Final, NamedTuple

from django.utils import timezone

from accounts.models import User
from accounts.users import bulk
from loginlog.days import today
from loginlog.services import Login, mark_logins

SEED: Final = "diptych readers"
HISTORY_DAYS: Final = 183
READER_NAMES: Final = (
    "Ada Quill", "Bo Lindqvist", "Carmen Ortega", "Dmitri Volkov", "Elif Kaya", "Fatou Ndiaye", "Grete Holm",
    "Hana Sato", "Idris Bello", "Jun Park", "Kofi Mensah", "Lena Vogt", "Marek Nowak", "Noor Haddad", "Oskar Lund",
    "Priya Nair", "Quentin Moreau", "Rosa Bianchi", "Sami Virtanen", "Tove Dahl", "Uma Reddy", "Viktor Horvath",
    "Wren Ashby", "Ximena Rojas", "Yara Costa", "Zofia Mazur", "林晓", "陈宇航", "王思远", "赵一鸣", "周静",
    "Anton Berg", "Beatriz Alves", "Chidi Okafor", "Daria Popescu", "Emil Novak",
)  # fmt: skip
STAFF_NAMES: Final = ("Iris Calder", "Jonas Weld", "Mina Orr")


class Habit(NamedTuple):
    """The habits of a reader: the first day, and the probability of a login on a weekday and on a weekend day."""

    since: date
    weekday: float
    weekend: float


def load_demo_people(until: date | None = None) -> int:
    """Add the readers, who show their logins to everyone, and their logins up to ``until`` (default: today).

    Return the number of readers. A second call for the same day changes nothing.
    """
    random, until = Random(SEED), until or today()
    ids: dict[str, int] = {}
    days: dict[int, list[date]] = {}
    for names, kind in ((READER_NAMES, User.Type.CLIENT), (STAFF_NAMES, User.Type.OFFICE)):
        ids |= bulk.get_or_create_users(names, user_type=kind)
        for name in names:
            days[ids[name]] = _invent_login_days(random, _invent_habit(random, kind, until), until)
    User.objects.filter(pk__in=ids.values()).update(shows_logins=True)
    _add_logins(random, days)
    return len(ids)


def load_demo_logins(names: Iterable[str], until: date | None = None) -> int:
    """Add half a year of logins up to ``until`` (default: today) for users of the demo. Return the number of users.

    A second call for the same day changes nothing. Existing logins of the users are kept.
    """
    until = until or today()
    users = list(User.objects.filter(username__in=list(names)))
    for user in users:
        random = Random(f"{SEED} {user.username}")
        habit = Habit(until - timedelta(days=HISTORY_DAYS), random.uniform(0.5, 0.8), random.uniform(0.3, 0.6))
        _add_logins(random, {user.pk: _invent_login_days(random, habit, until)})
    return len(users)


def _add_logins(random: Random, days: Mapping[int, list[date]]) -> None:
    """Count these logins and mark their days. days: by the ids of users."""
    kinds = dict(User.objects.filter(pk__in=days).values_list("pk", "user_type"))
    totals: dict[int, bulk.LoginTotals] = {}
    logins: list[Login] = []
    for pk, found in days.items():
        moments = [_pick_time(random, day) for day in found]
        if moments:
            totals[pk] = bulk.LoginTotals(len(moments), max(moments))
        logins += [(pk, kinds[pk], day) for day in found]
    bulk.raise_login_totals(totals)
    mark_logins(logins)


def _invent_habit(random: Random, kind: str, until: date) -> Habit:
    since = until - timedelta(days=random.choice((HISTORY_DAYS, HISTORY_DAYS, random.randrange(20, HISTORY_DAYS))))
    if kind == User.Type.OFFICE:
        return Habit(since, 0.85, 0.05)
    keen = random.betavariate(1.2, 3)
    return Habit(since, keen, min(1, keen * 1.6))


def _invent_login_days(random: Random, habit: Habit, until: date) -> list[date]:
    """Return the login days of a reader with this habit. The reader's interest varies from week to week."""
    found, mood = [habit.since], 1.0
    for number in range(1, (until - habit.since).days):
        day = habit.since + timedelta(days=number)
        if day.weekday() == 0:
            mood = random.uniform(0.4, 1.5)
        usual = habit.weekend if day.weekday() >= 5 else habit.weekday
        if random.random() < mood * usual:
            found.append(day)
    return found


def _pick_time(random: Random, day: date) -> datetime:
    """Return a random time on that day, in the site's time zone."""
    clock = time(random.randrange(7, 23), random.randrange(60))
    return timezone.make_aware(datetime.combine(day, clock), timezone.get_default_timezone())
