"""The weekly comparison repairs the current months in both directions, and leaves others alone."""

from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from loginlog import keys, services, tasks
from loginlog.storage import numbers
from loginlog.storage.synchronization import sync_months
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.verify import repair, runs
from tests.support.loginlog.tools import make_user, mirror_logins

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]
NOVEMBER, OCTOBER, SEPTEMBER = date(2026, 11, 5), date(2026, 10, 25), date(2026, 9, 25)
Damage = Callable[[Redis, int, date], object]


def month(user: int, day: date) -> str:
    return keys.month(day.replace(day=1), "client", user)


def place(user: int) -> int:
    found = numbers.get_number(user)
    assert found is not None
    return found


DAMAGES: dict[str, Damage] = {
    "a month that is missing": lambda redis, user, day: redis.delete(month(user, day)),
    "a day of a month that is missing": lambda redis, user, day: redis.setbit(month(user, day), day.day, 0),
    "a day of a month too many": lambda redis, user, day: redis.setbit(month(user, day), 9, 1),
    "a user of a day who is missing": lambda redis, user, day: redis.setbit(keys.day(day, "client"), place(user), 0),
    "a user of a day too many": lambda redis, user, day: redis.setbit(keys.day(day, "office"), place(user), 1),
    "a user of a day who does not exist": lambda redis, user, day: redis.setbit(keys.day(day, "client"), 77_777, 1),
    "a month of nobody": lambda redis, user, day: redis.set(month(77_777, day), b"\0\0\0\x40"),
}


@pytest.fixture
def user(settings: Settings) -> int:
    """Create a user with logins in three months, on the 7th of November."""
    settings.CLOCK = lambda: datetime(2026, 11, 7, 12, tzinfo=UTC)
    pk = make_user("alice").pk
    mirror_logins()
    services.mark_logins([(pk, "client", day) for day in (NOVEMBER, OCTOBER, SEPTEMBER)])
    drains.drain_all()
    return pk


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("day", [NOVEMBER, OCTOBER])
def test_each_damage_is_repaired(user: int, redis: Redis, name: str, day: date) -> None:
    before = {key: redis.dump(key) for key in redis.scan_iter("*loginLog_*")}
    assert sync_months() == ([date(2026, 10, 1), date(2026, 11, 1)], 2, 0)
    DAMAGES[name](redis, user, day)
    assert runs.verify(["login_month"])
    assert sync_months().repaired >= 1
    assert runs.verify(["login_month"]) == []
    assert {key: redis.dump(key) for key in redis.scan_iter("*loginLog_*")} == before


def test_from_the_8th_on_only_the_current_month_is_compared(user: int, redis: Redis, settings: Settings) -> None:
    settings.CLOCK = lambda: datetime(2026, 11, 8, 12, tzinfo=UTC)
    DAMAGES["a month that is missing"](redis, user, OCTOBER)
    assert tasks.sync() == 0
    DAMAGES["a month that is missing"](redis, user, NOVEMBER)
    assert tasks.sync() == 1
    assert sync_months().months == [date(2026, 11, 1)]
    assert [difference.pk for difference in runs.verify(["login_month"])] == [f"2026-10_client_{user}"]


def test_the_number_of_queries_does_not_depend_on_the_number_of_strays(user: int, redis: Redis) -> None:
    def count_queries() -> int:
        with record() as seen:
            found = runs.verify(["login_month"])
            repair.order(found)
            repair.carry_out(found)
        assert found
        assert runs.verify(["login_month"]) == []
        return len(seen.sql)

    def damage(first: int, last: int) -> None:
        for number in range(first, last):
            redis.setbit(keys.day(NOVEMBER, "client"), number, 1)
            redis.set(month(number, OCTOBER), b"\0\0\0\x40")

    damage(5000, 5003)
    few = count_queries()
    damage(6000, 6100)
    assert count_queries() < few + 20
