"""Marks: their cost, their effect, and their way to Redis."""

import threading
from collections.abc import Iterable
from datetime import UTC, date, datetime

import pytest
from django.db import connection, transaction
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from loginlog import days, keys, selectors, services
from loginlog.models import LoginMonth, Number
from loginlog.names import BadName, MonthName
from loginlog.storage import numbers
from loginlog.storage.reading import Span
from mirror.read import read_from_sql
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay import drains
from tests.support.loginlog.tools import ago, keys_of, make_user, mirror_logins
from tests.support.servers import RedisServer
from tests.support.timeouts import hung

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


def test_a_login_sets_a_bit_of_its_month_and_a_bit_of_its_day(redis: Redis) -> None:
    user = make_user("alice")
    assert services.mark_login(user, date(2017, 10, 25))
    assert keys.month(date(2017, 10, 1), "client", user.pk).endswith(f"loginLog_2017-10_client_{user.pk}")
    assert keys.day("2017-10-25", "client").endswith("loginDay_2017-10-25_client")
    assert redis.get(keys.month(date(2017, 10, 1), "client", user.pk)) == b"\0\0\0\x40"
    assert redis.getbit(keys.month(date(2017, 10, 1), "client", user.pk), 25) == 1
    [row] = LoginMonth.objects.all()
    assert (row.pk, row.user, row.bits) == (f"2017-10_client_{user.pk}", user, 0x40)
    assert redis.getbit(keys.day(date(2017, 10, 25), "client"), row.number_id) == 1
    assert redis.bitcount(keys.day(date(2017, 10, 25), "client")) == 1


def test_dense_ids_are_dense_and_never_reused(redis: Redis) -> None:
    people = [make_user(f"reader {n}") for n in range(3)]
    people.append(User.objects.create(pk=987_654_321, username="imported"))
    for user in people:
        services.mark_login(user)
        services.mark_login(user, ago(1))
    first = Number.objects.order_by("pk").values_list("pk", flat=True)[0]
    assert list(Number.objects.order_by("pk").values_list("pk", flat=True)) == [first, first + 1, first + 2, first + 3]
    people[-1].delete()
    late = make_user("late")
    services.mark_logins([(late.pk, "client", ago(0)), (people[0].pk, "client", ago(1))])
    assert Number.objects.get(user=late).pk == first + 4
    mirror_logins()
    assert redis.strlen(keys.day(ago(0), "client")) == (first + 4) // 8 + 1
    assert list(selectors.find_active_ids("client", ago(0), ago(0))) == [*(user.pk for user in people[:3]), late.pk]


def test_a_mark_is_one_statement_and_a_repeated_one_changes_nothing(redis: Redis) -> None:
    mirror_logins()
    user = make_user("alice")
    with record() as seen:
        assert services.mark_login(user, date(2017, 10, 25))
    assert len([sql for sql, _ in seen.sql if "loginlog_number" in sql]) == 3  # the first one also gives the dense id
    with record() as seen:
        assert services.mark_login(user)
    assert len([sql for sql, _ in seen.sql if sql.lstrip().startswith("INSERT INTO loginlog_loginmonth")]) == 1
    before = {name: redis.dump(name) for name in redis.scan_iter()}
    with record() as seen:
        assert not services.mark_login(user)
    assert (seen.round_trips, len(seen.sql)) == (0, 3)
    assert {name: redis.dump(name) for name in redis.scan_iter()} == before


def test_a_login_counts_although_another_process_adds_the_dense_id_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    user, add = make_user("alice"), numbers.add_missing

    def add_late(user_ids: Iterable[int]) -> None:
        monkeypatch.setattr(numbers, "add_missing", add)
        services.mark_login(user, date(2017, 10, 25))
        add(user_ids)

    monkeypatch.setattr(numbers, "add_missing", add_late)
    assert services.mark_login(user)
    assert selectors.find_login_days(user, date(2017, 10, 1), ago(0)) == [date(2017, 10, 25), ago(0)]


def test_a_mark_belongs_to_the_transaction_of_its_caller() -> None:
    user = make_user("alice")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        services.mark_login(user)
        raise ZeroDivisionError
    assert not selectors.has_logged_in_on(user, ago(0))


def test_a_user_that_does_not_exist_is_left_out() -> None:
    user = make_user("alice")
    assert not services.mark_login_as(user.pk + 1, "client", ago(0))
    assert services.mark_logins([(user.pk, "client", ago(0)), (user.pk + 1, "client", ago(0))]) == 1
    assert LoginMonth.objects.count() == 1


def test_the_day_follows_the_sites_time_zone(settings: Settings) -> None:
    settings.TIME_ZONE = "Europe/Berlin"  # summer time ends on 2017-10-29: that day has 25 hours
    for moment, day in [
        (datetime(2017, 10, 28, 21, 59, tzinfo=UTC), date(2017, 10, 28)),
        (datetime(2017, 10, 28, 22, 0, tzinfo=UTC), date(2017, 10, 29)),
        (datetime(2017, 10, 29, 22, 59, tzinfo=UTC), date(2017, 10, 29)),
        (datetime(2017, 10, 29, 23, 0, tzinfo=UTC), date(2017, 10, 30)),
        (datetime(2017, 12, 31, 23, 0, tzinfo=UTC), date(2018, 1, 1)),
    ]:
        assert days.day_of(moment) == day
    user = make_user("alice")
    services.mark_login(user, datetime(2016, 2, 29, 23, 30, tzinfo=UTC))
    assert selectors.find_login_days(user, date(2016, 2, 1), date(2016, 3, 31)) == [date(2016, 3, 1)]


def test_a_naive_datetime_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        services.mark_login(make_user("alice"), datetime(2017, 10, 25))  # noqa: DTZ001


def test_concurrent_logins_of_one_day_are_one_login() -> None:
    user, both, found = make_user("alice"), threading.Barrier(4), list[bool]()

    def log_in() -> None:
        both.wait()
        found.append(services.mark_login(user))
        connection.close()

    threads = [threading.Thread(target=log_in) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [False, False, False, True]
    assert Number.objects.filter(user=user).count() == 1


def test_a_change_of_type_counts_a_user_once() -> None:
    mirror_logins()
    user = make_user("alice")
    services.mark_login(user, ago(1))
    user.user_type = "office"
    services.mark_login(user, ago(0))
    assert selectors.count_active("client", ago(1), ago(0)) == selectors.count_active("office", ago(1), ago(0)) == 1
    assert selectors.count_active(None, ago(1), ago(0)) == 1
    assert selectors.find_login_days(user, ago(1), ago(0)) == [ago(1), ago(0)]


def test_many_logins_are_counted_once_and_reach_redis() -> None:
    mirror_logins()
    alice, bob = make_user("alice"), make_user("bob")
    marks = [(alice.pk, "client", ago(1)), (alice.pk, "client", ago(0)), (bob.pk, "office", ago(0))]
    services.mark_login(alice, ago(1))
    assert services.mark_logins([*marks, *marks]) == 2
    assert services.mark_logins(marks) == 0
    drains.drain_all()
    with record() as seen:
        assert selectors.count_active(None, ago(0), ago(0)) == 2
    assert seen.sql == []


def test_a_login_without_redis_reaches_it_later(redis_server: RedisServer) -> None:
    user = make_user("alice")
    mirror_logins()
    redis_server.kill()
    assert services.mark_login(user, ago(1))
    assert services.mark_logins([(user.pk, "office", ago(0))]) == 1
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(1), ago(0)]
    redis_server.start()
    breaker.reset()
    mirror_logins()
    with record() as seen:
        assert selectors.count_active(None, ago(1), ago(1)) == selectors.count_active("office", ago(0), ago(0)) == 1
        assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(1), ago(0)]
    assert seen.sql == []


def test_an_emptied_redis_loses_no_login(redis: Redis) -> None:
    user = make_user("alice")
    mirror_logins()
    services.mark_login(user, ago(1))
    services.mark_login(user, ago(0))
    redis.flushall()
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(1), ago(0)]
    assert selectors.count_active(None, ago(5), ago(0)) == 1


def test_a_hung_redis_does_not_lose_a_login(redis_server: RedisServer) -> None:
    user = make_user("alice")
    with hung(redis_server):
        services.mark_login(user, ago(0))
        assert selectors.has_logged_in_on(user, ago(0))


def test_days_of_any_lengths_are_counted_together(redis: Redis) -> None:
    mirror_logins()
    ids = [1, 7, 900, 70_000, 3_000_000]
    people = [make_user(f"reader {n}") for n in ids]
    for user, pk in zip(people, ids, strict=True):
        type(user).objects.filter(pk=user.pk).update(id=pk + 1_000_000)
    found = sorted(pk + 1_000_000 for pk in ids)
    services.mark_logins((pk, "client", ago(n)) for n, pk in enumerate(found))
    services.mark_logins((pk, "office", ago(20)) for pk in found[:3])
    drains.drain_all()
    spans = [Span(ago(30), ago(0)), Span(ago(2), ago(1), "client"), Span(ago(20), ago(20)), Span(ago(30), ago(21))]
    for _ in range(2):
        assert selectors.count_active_in_spans(spans) == [5, 2, 3, 0]
        assert list(selectors.find_active_ids_of_any_type(ago(30), ago(0))) == found
        assert list(selectors.find_active_ids("office", ago(30), ago(0))) == found[:3]
        redis.flushall()


def test_reads_leave_no_keys_and_take_two_round_trips(redis: Redis) -> None:
    mirror_logins()
    user = make_user("alice")
    for n in range(31):
        services.mark_login(user, ago(n))
    before = keys_of(redis, "")
    with record() as seen:
        assert selectors.count_active(None, ago(30), ago(0)) == 1
    assert (seen.round_trips, seen.sql) == (2, [])
    assert all(len(command.args) <= 18 for command in seen.commands if command.name == "BITOP")
    with record() as seen:
        assert len(selectors.find_login_days(user, ago(30), ago(0))) == 31
    assert (seen.round_trips, seen.sql) == (1, [])
    assert keys_of(redis, "") == before
    with read_from_sql(), record() as seen:
        assert selectors.count_active(None, ago(30), ago(0)) == 1
        assert len(selectors.find_login_days(user, ago(30), ago(0))) == 31
    assert (seen.round_trips, len(seen.sql)) == (0, 2)


@pytest.mark.parametrize(("first", "last"), [(date(2020, 1, 2), date(2020, 1, 1)), (date.min, date.max)])
def test_reversed_and_too_long_ranges_are_refused(first: date, last: date) -> None:
    for ask in (selectors.find_active_ids_of_any_type, lambda a, b: selectors.find_login_days(1, a, b)):
        with pytest.raises(ValueError, match="range"):
            ask(first, last)


@pytest.mark.parametrize(
    "text", ["", "2017-10", "2017-10_7", "2017-13_client_7", "2017-10_client_07", "2017-10__7", "2017-10_client_x"]
)
def test_only_the_name_of_a_month_is_one(text: str) -> None:
    assert MonthName.parse("2017-10_a_b_7") == (date(2017, 10, 1), "a_b", 7)
    with pytest.raises(BadName):
        MonthName.parse(text)
