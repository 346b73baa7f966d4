"""Marks: their cost, their effect, and their way to SQL while Redis is away."""

import threading
from datetime import UTC, date, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings
from redis import Redis

from loginlog import days, keys, selectors, services
from loginlog.corrections import settling
from loginlog.models import Number, Owed
from loginlog.storage import bitmaps, dense_ids, scripts
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from tests.support.loginlog.tools import ago, backup, keys_of, make_user, restore_login_log, sync
from tests.support.servers import RedisServer
from tests.support.timeouts import hung

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_login_sets_a_bit_of_its_month_and_a_bit_of_its_day(redis: Redis) -> None:
    user = make_user("alice")
    assert services.mark_login(user, date(2017, 10, 25))
    number = Number.objects.get(user=user).pk
    assert redis.getbit(keys.month(date(2017, 10, 1), "client", user.pk), 25) == 1
    assert redis.getbit(keys.day(date(2017, 10, 25), "client"), number) == 1
    assert redis.getbit(keys.population(), number) == 1
    assert keys.month("2017-10", "client", user.pk).endswith(f"loginLog_2017-10_client_{user.pk}")
    assert keys.day("2017-10-25", "client").endswith("loginDay_2017-10-25_client")


def test_a_repeated_mark_changes_nothing_and_takes_one_round_trip(redis: Redis) -> None:
    restore_login_log()
    user = make_user("alice")
    services.mark_login(user)
    sync()
    before = {name: redis.dump(name) for name in redis.scan_iter()}
    with record() as seen:
        assert not services.mark_login(user)
    assert seen.round_trips == 1
    assert seen.sql == []
    assert {name: redis.dump(name) for name in redis.scan_iter()} == before
    assert redis.zcard(backup().marks()) == 0


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


def test_dense_ids_are_never_reused() -> None:
    people = [make_user(f"reader {n}") for n in range(3)]
    for user in people:
        services.mark_login(user)
    first = Number.objects.order_by("pk").values_list("pk", flat=True)[0]
    assert list(Number.objects.order_by("pk").values_list("pk", flat=True)) == [first, first + 1, first + 2]
    people[-1].delete()
    late = make_user("late")
    services.mark_logins([(late.pk, "client", ago(0)), (people[0].pk, "client", ago(1))])
    assert Number.objects.get(user=late).pk == first + 3


def test_concurrent_first_logins_create_one_dense_id() -> None:
    user, both, found = make_user("alice"), threading.Barrier(2), list[bool]()

    def log_in() -> None:
        both.wait()
        found.append(services.mark_login(user))
        connection.close()

    threads = [threading.Thread(target=log_in) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [False, True]
    assert Number.objects.filter(user=user).count() == 1


def test_a_change_of_type_counts_a_user_once() -> None:
    restore_login_log()
    user = make_user("alice")
    services.mark_login(user, ago(1))
    user.user_type = "office"
    services.mark_login(user, ago(0))
    assert selectors.count_active("client", ago(1), ago(0)) == selectors.count_active("office", ago(1), ago(0)) == 1
    assert selectors.count_active(None, ago(1), ago(0)) == 1
    assert selectors.find_login_days(user, ago(1), ago(0)) == [ago(1), ago(0)]


def test_a_login_without_redis_goes_to_sql_and_reaches_redis_later(redis_server: RedisServer) -> None:
    user = make_user("alice")
    restore_login_log()
    services.mark_login(user, ago(2))
    redis_server.kill()
    assert services.mark_login(user, ago(1))
    assert services.mark_logins([(user.pk, "office", ago(0))]) == 1
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(1), ago(0)]  # only Redis' file has ago(2)
    redis_server.start()
    breaker.reset()
    settling.settle_redis()
    restore_login_log()
    assert not Owed.objects.exists()
    assert selectors.find_login_days(user, ago(5), ago(0))[-2:] == [ago(1), ago(0)]
    with CaptureQueriesContext(connection) as asked:
        assert selectors.count_active(None, ago(1), ago(1)) == selectors.count_active("office", ago(0), ago(0)) == 1
    assert not asked.captured_queries


def test_a_hung_redis_does_not_lose_a_login(redis_server: RedisServer) -> None:
    user = make_user("alice")
    with hung(redis_server):
        services.mark_login(user, ago(0))
        assert selectors.has_logged_in_on(user, ago(0))


@pytest.mark.parametrize("number", [0, 1, 65535, 65536, 10**6, 10**7])
def test_day_bitmaps_have_whole_segments_and_few_lengths(number: int) -> None:
    length = scripts.compute_min_length(number)
    assert length % bitmaps.SEGMENT_BYTES == 0
    assert number < length * 8 <= max(65536, (number + 65536) * 9 // 8 + 65536)
    assert scripts.compute_min_length(length * 8 - 1) == length


def test_days_get_the_length_of_the_population(redis: Redis) -> None:
    restore_login_log()
    low, high = make_user("low"), make_user("high")
    Number.objects.create(pk=1, user=low)
    Number.objects.create(pk=3_000_000, user=high)
    for n, user in enumerate([low, high, low]):
        services.mark_login(user, ago(n))
    sizes = [redis.strlen(keys.day(ago(n), "client")) for n in range(3)]
    assert sizes[0] < sizes[1] == sizes[2] == redis.strlen(keys.population())
    assert selectors.count_active("client", ago(2), ago(0)) == 2
    assert list(selectors.find_active_ids_of_any_type(ago(2), ago(0))) == [low.pk, high.pk]
    assert list(selectors.find_active_ids_of_any_type(ago(1), ago(1))) == [high.pk]
    assert selectors.read_population() == bitmaps.from_positions([1, 3_000_000])
    sync()
    redis.flushdb()
    assert list(selectors.find_active_ids_of_any_type(ago(2), ago(0))) == [low.pk, high.pk]
    assert selectors.read_population() == bitmaps.from_positions([1, 3_000_000])


def test_reads_leave_no_keys_and_take_two_round_trips(redis: Redis) -> None:
    restore_login_log()
    user = make_user("alice")
    for n in range(31):
        services.mark_login(user, ago(n))
    dense_ids.dense_id_cache.clear()
    before = keys_of(redis, "")
    with record() as seen:
        assert selectors.count_active(None, ago(30), ago(0)) == 1
    assert (seen.round_trips, seen.sql) == (2, [])
    assert all(len(command.args) <= 18 for command in seen.commands if command.name == "BITOP")
    with record() as seen:
        assert len(selectors.find_login_days(user, ago(30), ago(0))) == 31
    assert (seen.round_trips, seen.sql) == (1, [])
    assert keys_of(redis, "") == before


@pytest.mark.parametrize(("first", "last"), [(date(2020, 1, 2), date(2020, 1, 1)), (date.min, date.max)])
def test_reversed_and_too_long_ranges_are_refused(first: date, last: date) -> None:
    for ask in (selectors.find_active_ids_of_any_type, lambda a, b: selectors.find_login_days(1, a, b)):
        with pytest.raises(ValueError, match="range"):
            ask(first, last)
