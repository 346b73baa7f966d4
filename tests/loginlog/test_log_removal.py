"""Removed logins and erased users leave SQL at once, and Redis with the drain."""

from contextlib import suppress
from datetime import date
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import Client
from redis import Redis

from accounts.models import User
from loginlog import hooks, keys, selectors, services
from loginlog.archive import expiry, loading, log_files
from loginlog.models import LoginMonth, Number
from loginlog.storage import bitmaps, numbers, synchronization
from mirror.relay import drains
from mirror.verify import runs
from tests.support.loginlog.tools import ago, keys_of, make_user, mirror_logins
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


@pytest.fixture
def user() -> User:
    mirror_logins()
    return make_user("alice")


def test_a_removed_login_disappears_for_all_types(user: User, redis: Redis) -> None:
    services.mark_logins([(user.pk, kind, ago(n)) for kind in ("client", "office") for n in (0, 1)])
    drains.drain_all()
    number = Number.objects.get(user=user).pk
    assert services.remove_login(user, ago(1))
    assert not services.remove_login(user, ago(1))
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(0)]
    drains.drain_all()
    assert [redis.getbit(keys.day(ago(1), kind), number) for kind in ("client", "office")] == [0, 0]
    assert selectors.count_active(None, ago(1), ago(1)) == 0
    assert runs.verify(["login_month"]) == []


def test_a_later_mark_of_a_removed_day_counts(user: User, client: Client) -> None:
    client.force_login(user)
    services.remove_login(user, ago(0))
    assert not selectors.has_logged_in_on(user, ago(0))
    client.force_login(user)
    assert selectors.has_logged_in_on(user, ago(0))
    assert hooks.recent_marks


def test_the_last_login_of_a_month_leaves_no_bitmap(user: User, redis: Redis) -> None:
    services.mark_login(user, ago(0))
    assert keys_of(redis, "loginLog_")
    services.remove_login(user, ago(0))
    drains.drain_all()
    assert keys_of(redis, "loginLog_") == []


def test_a_removal_without_redis_reaches_redis_later(redis_server: RedisServer) -> None:
    user = make_user("alice")
    services.mark_login(user, ago(1))
    redis_server.kill()
    assert services.remove_login(user, ago(1))
    redis_server.start()
    mirror_logins()
    assert selectors.find_login_days(user, ago(5), ago(0)) == []


def test_a_deleted_user_leaves_no_bit(user: User, redis: Redis) -> None:
    other = make_user("bob")
    services.mark_logins([(pk, "client", ago(0)) for pk in (user.pk, other.pk)])
    drains.drain_all()
    pk = user.pk
    user.delete()
    drains.drain_all()
    assert not LoginMonth.objects.filter(user_id=pk).exists()
    number = Number.objects.get(user=other).pk
    assert bitmaps.list_positions(redis.get(keys.day(ago(0), "client")) or b"").tolist() == [number]
    assert keys_of(redis, "loginLog_") == [f"loginLog_{ago(0):%Y-%m}_client_{other.pk}"]
    assert list(selectors.find_active_ids("client", ago(0), ago(0))) == [other.pk]


@pytest.mark.parametrize("is_remembered", [True, False])
def test_a_deleted_user_is_forgotten_when_redis_has_no_bit(user: User, redis: Redis, *, is_remembered: bool) -> None:
    services.mark_logins([(user.pk, "client", ago(0)), (make_user("bob").pk, "client", ago(0))])
    drains.drain_all()
    pk = user.pk
    user.delete()
    synchronization.sync_months()
    assert Number.objects.filter(user_id=pk).exists()  # the deletion is pending
    if not is_remembered:
        numbers.number_cache.clear()
    drains.drain_all()
    assert redis.bitcount(keys.day(ago(0), "client")) == 1
    synchronization.sync_months()
    assert not Number.objects.filter(user_id=pk).exists()
    assert Number.objects.count() == 2
    assert runs.verify(["login_month"]) == []


def test_an_erased_user_leaves_sql_redis_and_the_files(user: User, redis: Redis) -> None:
    other, day = make_user("bob"), date(2020, 2, 29)
    services.mark_logins([(pk, "client", each) for pk in (user.pk, other.pk) for each in (ago(0), day)])
    (done,) = expiry.expire_months(31)
    assert isinstance(done.file, Path)
    assert services.erase_user(user)
    assert not services.erase_user(user)
    drains.drain_all()
    assert loading.load_file(done.file).loaded == 1
    drains.drain_all()
    assert selectors.find_login_days(user, day, ago(0)) == []
    assert selectors.find_login_days(other, day, ago(0)) == [day, ago(0)]
    assert runs.verify(["login_month"]) == []


def test_a_file_leaves_out_users_that_do_not_exist(user: User) -> None:
    other, day = make_user("bob"), date(2020, 2, 29)
    services.mark_logins([(pk, "client", day) for pk in (user.pk, other.pk)])
    (done,) = expiry.expire_months(31, from_sql=True)
    assert done.file is not None
    user.delete()
    assert loading.load_file(done.file) == (1, 1)
    assert LoginMonth.objects.count() == 1


def test_a_loaded_file_does_not_bring_a_removed_login_back(user: User) -> None:
    other, first, second = make_user("bob"), date(2020, 2, 28), date(2020, 2, 29)
    services.mark_logins(
        [(pk, kind, day) for pk in (user.pk, other.pk) for day in (first, second) for kind in ("client", "office")]
    )
    mirror_logins()
    (done,) = expiry.expire_months(31)
    assert done.file is not None
    assert services.remove_login(user, second)
    assert not services.remove_login(user, second)
    loading.load_file(done.file)
    drains.drain_all()
    assert selectors.find_login_days(user, first, ago(0)) == [first]
    assert selectors.find_login_days(other, first, ago(0)) == [first, second]
    assert services.remove_login(user, first)
    assert {line.name.user_id for _, line in log_files.read_lines(done.file)} == {other.pk}


def test_a_loaded_month_is_never_missing(user: User) -> None:
    day = date(2020, 2, 29)
    services.mark_login(user, day)
    mirror_logins()
    (done,) = expiry.expire_months(31)
    drains.drain_all()
    assert done.file is not None
    assert selectors.find_login_days(user, day, ago(0)) == [day]
    loading.load_file(done.file)
    assert selectors.find_login_days(user, day, ago(0)) == [day]
    assert selectors.find_login_days(user, day, ago(0)) == [day]


def test_a_failed_look_up_of_a_dense_id_leaves_no_bit(
    user: User, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.mark_login(user, ago(1))
    drains.drain_all()
    LoginMonth.objects.all().delete()
    numbers.number_cache.clear()  # another process drains
    prepare, failed = numbers.prepare, Mock(side_effect=[OperationalError("server closed the connection")])
    with monkeypatch.context() as patch:
        patch.setattr(numbers, "prepare", lambda users: prepare(users) if failed.called else failed())
        with suppress(OperationalError):
            drains.drain_all()
    assert failed.called
    drains.drain_all()
    assert redis.bitcount(keys.day(ago(1), "client")) == 0
    assert runs.verify(["login_month"]) == []


def test_an_error_of_sql_while_entries_are_listed_leaves_no_bit(
    user: User, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.mark_login(user, ago(1))
    drains.drain_all()
    LoginMonth.objects.all().delete()
    with monkeypatch.context() as patch:
        patch.setattr(numbers, "get_number", Mock(side_effect=OperationalError("server closed the connection")))
        with suppress(OperationalError):
            drains.drain_all()
    drains.drain_all()
    assert redis.bitcount(keys.day(ago(1), "client")) == 0
