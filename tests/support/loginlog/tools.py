"""Users and logins as rows of SQL, as marks in a plain set, and in Redis."""

from collections.abc import Iterable
from datetime import date, timedelta
from random import Random

from redis import Redis

from accounts.models import User
from loginlog import days, selectors, services
from loginlog.days import list_days
from loginlog.mirrors import NAME
from loginlog.storage.reading import Span
from mirror.redis import tag_of
from mirror.redis.recorder import Recording
from mirror.relay import drains
from tests.support.loginlog.naive import Mark
from tests.support.warm_mirrors import rebuild

Row = tuple[int, str, date]  # user id, user type on that day, day
TYPES = ("client", "office")


def mirror_logins() -> None:
    """Write all logins of SQL to Redis; afterwards readers use Redis."""
    rebuild([NAME])
    drains.drain_all()


def ago(count: int) -> date:
    """Return the day ``count`` days before today."""
    return days.today() - timedelta(days=count)


def make_user(name: str, user_type: str = "client") -> User:
    """Create a user."""
    return User.objects.create(username=name, user_type=user_type)


def assert_selectors_agree(rows: Iterable[Row], users: Iterable[int], ranges: Iterable[tuple[date, date]]) -> None:
    """Check that every selector agrees with a plain table of (user, type, day)."""
    table = set(rows)
    everybody = list(users)
    for first, last in ranges:
        inside = {row for row in table if first <= row[2] <= last}
        for user in everybody:
            wanted = sorted({day for who, _, day in inside if who == user})
            assert selectors.find_login_days(user, first, last) == wanted
            assert selectors.has_logged_in_between(user, first, last) == bool(wanted)
            assert selectors.has_logged_in_on(user, first) == any(r[0] == user and r[2] == first for r in table)
            in_month = any(r[0] == user and (r[2].year, r[2].month) == (last.year, last.month) for r in table)
            assert selectors.has_logged_in_month(user, last) == in_month
        for kind in TYPES:
            wanted_users = sorted({who for who, what, _ in inside if what == kind})
            assert sorted(selectors.find_active_ids(kind, first, last)) == wanted_users
        wanted_users = sorted({who for who, _, _ in inside})
        assert sorted(selectors.find_active_ids_of_any_type(first, last)) == wanted_users
        spans = [Span(first, last, kind) for kind in (*TYPES, None)]
        counts = [len({who for who, what, _ in inside if kind in (what, None)}) for kind in (*TYPES, None)]
        assert selectors.count_active_in_spans(spans) == counts


def keys_of(redis: Redis, start: str) -> list[str]:
    """Return the keys in Redis that start with ``start``, without the hash tag of a cluster."""
    tag = tag_of("loginlog")
    found = redis.scan_iter(f"{tag}{start}*", count=1000)
    return sorted(name.decode().removeprefix(tag) for name in found)


def make_users(count: int) -> list[User]:
    """Create ``count`` users."""
    return User.objects.bulk_create(User(username=f"reader {n}", password="!") for n in range(count))


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


def count_round_trips(seen: Recording) -> int:
    """Return the number of round trips that read keys of the login log."""
    found = {c.trip for c in seen.commands if any("loginL" in k or "loginD" in k or "loginlog" in k for k in c.named())}
    return len(found)
