"""Erasure: no bit is left anywhere, and no older copy brings one back."""

import pytest
from redis import Redis

from loginlog import keys, selectors, services
from loginlog.archive import expiry, loading
from loginlog.corrections import settling
from loginlog.models import DayBits, Erased, MonthBits, Number
from loginlog.storage import bitmaps, dense_ids, scripts
from mirror.backup.restore import restore
from mirror.backup.verify import verify
from mirror.redis.clients import breaker
from tests.support.loginlog.tools import ago, backup, keys_of, make_user, restore_login_log, sync
from tests.support.servers import RedisServer
from tests.support.timeouts import hung

pytestmark = pytest.mark.django_db(transaction=True)


def bits(redis: Redis, number: int) -> list[str]:
    """Return the day bitmaps, and the population, in Redis that contain a dense id."""
    return [name for name in keys_of(redis, "login") if "Day_" in name or "population" in name
            if redis.getbit(name, number)]  # fmt: skip


def test_a_deleted_user_leaves_no_bit(redis: Redis) -> None:
    restore_login_log()
    alice, bob = make_user("alice"), make_user("bob")
    for user in (alice, bob):
        services.mark_logins([(user.pk, "client", ago(0)), (user.pk, "office", ago(100))])
    sync()
    services.mark_login(alice, ago(1))  # not in SQL yet
    number = Number.objects.get(user=alice).pk
    kept = alice.pk
    alice.delete()
    sync()
    assert bits(redis, number) == []
    assert not [name for name in keys_of(redis, "loginLog_") if name.endswith(f"_{kept}")]
    assert not MonthBits.objects.filter(number=number).exists()
    assert all(number not in bitmaps.list_positions(bytes(row.bits)) for row in DayBits.objects.all())
    assert list(selectors.find_active_ids_of_any_type(ago(100), ago(0))) == [bob.pk]
    assert verify(backup()) == []
    assert Erased.objects.get(number=number).user_pk is None


def test_no_flush_restore_or_load_brings_an_erased_bit_back(redis: Redis) -> None:
    restore_login_log()
    user = make_user("alice")
    services.mark_logins([(user.pk, "client", ago(0)), (user.pk, "client", ago(100))])
    sync()
    held = dict(backup().read(redis, backup().items_after(None, 100)))
    (done,) = expiry.expire_months(31)
    number = Number.objects.get(user=user).pk
    services.erase_user(user)
    backup().save(held)  # a paused flush that had read the bits before
    assert set(backup().kept(held)) == set(held)  # SQL need not have any of these bits
    backup().put_back(redis, held)  # a paused restore
    assert done.file is not None
    loading.load_file(done.file)
    settling.settle_redis()
    restore(backup(), again=True)
    assert bits(redis, number) == []
    assert keys_of(redis, "loginLog_") == []
    assert not MonthBits.objects.exists()
    assert [bytes(row.bits) for row in DayBits.objects.all()] == [b""] * DayBits.objects.count()
    assert selectors.find_login_days(user, ago(100), ago(0)) == []


def test_an_erased_user_that_returns_gets_a_new_dense_id(redis: Redis) -> None:
    restore_login_log()
    user = make_user("alice")
    services.mark_login(user, ago(1))
    old = Number.objects.get(user=user).pk
    services.erase_user(user)
    services.mark_login(user, ago(0))
    assert Number.objects.get(user=user).pk != old
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(0)]
    sync()
    assert verify(backup()) == []


def test_a_process_cannot_use_a_cached_erased_dense_id(redis: Redis) -> None:
    restore_login_log()
    user = make_user("alice")
    services.mark_login(user, ago(1))
    old = Number.objects.get(user=user).pk
    services.erase_user(user)
    dense_ids.dense_id_cache.put(user.pk, old)
    services.mark_login(user, ago(0))
    assert bits(redis, old) == []
    dense_ids.dense_id_cache.put(user.pk, old)
    services.mark_logins([(user.pk, "client", ago(2))])
    assert bits(redis, old) == []
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(2), ago(0)]


def test_the_next_flush_clears_erased_bits_in_an_emptied_redis(redis: Redis) -> None:
    user, other = make_user("alice"), make_user("bob")
    services.mark_login(user, ago(0))
    old = Number.objects.get(user=user).pk
    services.erase_user(user)
    redis.flushdb()
    dense_ids.dense_id_cache.put(user.pk, old)
    services.mark_login(user, ago(0))
    services.mark_login(other, ago(0))
    sync()
    assert "loginDay" not in str(bits(redis, old))
    assert list(selectors.find_active_ids_of_any_type(ago(0), ago(0))) == [other.pk]
    restore_login_log()
    assert [d for d in verify(backup()) if d.kind != "stray"] == []


def test_an_erasure_without_redis_reaches_redis_later(redis_server: RedisServer) -> None:
    restore_login_log()
    user = make_user("alice")
    services.mark_login(user, ago(0))
    number = Number.objects.get(user=user).pk
    with hung(redis_server):
        services.erase_user(user)
    breaker.reset()
    services.mark_login(user, ago(1))  # Redis is not clean yet, so this mark goes to SQL alone
    assert Erased.objects.get(number=number).user_pk == user.pk
    assert settling.settle_redis()
    with redis_server.client() as redis:
        assert redis.getbit(keys.day(ago(0), "client"), number) == 0
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(1)]
    sync()
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(1)]


def test_a_repeated_cleanup_keeps_later_marks(redis: Redis) -> None:
    restore_login_log()
    user = make_user("alice")
    services.mark_login(user, ago(0))
    old = Number.objects.get(user=user).pk
    services.erase_user(user)
    services.mark_login(user, ago(0))
    Erased.objects.filter(number=old).update(user_pk=user.pk)  # a second, late process repeats the cleanup
    settling.settle_redis()
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(0)]


def test_all_users_of_a_day_can_be_erased() -> None:
    people = [make_user(f"reader {n}") for n in range(10)]
    services.mark_logins([(user.pk, "client", ago(0)) for user in people])
    sync()
    for user in people:
        assert services.erase_user(user)
    assert [bytes(row.bits) for row in DayBits.objects.all()] == [b""]


def test_erasing_a_user_without_logins_does_nothing() -> None:
    assert not services.erase_user(make_user("alice"))
    assert scripts.compute_min_length(0) == 8192
