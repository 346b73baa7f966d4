"""Erasing: no bit is left anywhere, and nothing brings one back."""

import pytest
from redis import Redis

from loginlog import bitmaps, expiry, filling, keys, loading, numbers, scripts, selectors, services
from loginlog.models import DayBits, Erased, MonthBits, Number
from mirror.backup.restore import restore
from mirror.backup.verify import verify
from mirror.naming import key
from mirror.redis import breaker
from tests.support.loginlog.tools import ago, backup, keys_of, person, put_back, sync
from tests.support.servers import RedisServer
from tests.support.timeouts import hung

pytestmark = pytest.mark.django_db(transaction=True)


def bits(redis: Redis, number: int) -> list[str]:
    """The bitmaps of days (and the population) in Redis that have a number."""
    return [name for name in keys_of(redis, "login") if "Day_" in name or "population" in name
            if redis.getbit(key(name), number)]  # fmt: skip


def test_a_user_who_is_deleted_leaves_no_bit(redis: Redis) -> None:
    put_back()
    alice, bob = person("alice"), person("bob")
    for user in (alice, bob):
        services.mark_many([(user.pk, "client", ago(0)), (user.pk, "office", ago(100))])
    sync()
    services.mark(alice, ago(1))  # SQL has not heard of it
    number = Number.objects.get(user=alice).pk
    kept = alice.pk
    alice.delete()
    sync()
    assert bits(redis, number) == []
    assert not [name for name in keys_of(redis, "loginLog_") if name.endswith(f"_{kept}")]
    assert not MonthBits.objects.filter(number=number).exists()
    assert all(number not in bitmaps.numbers(bytes(row.bits)) for row in DayBits.objects.all())
    assert list(selectors.active_any(ago(100), ago(0))) == [bob.pk]
    assert verify(backup()) == []
    assert Erased.objects.get(number=number).user_pk is None


def test_neither_sync_nor_restore_nor_load_brings_a_bit_back(redis: Redis) -> None:
    put_back()
    user = person("alice")
    services.mark_many([(user.pk, "client", ago(0)), (user.pk, "client", ago(100))])
    sync()
    held = dict(backup().read(redis, backup().items_after(None, 100)))
    (done,) = expiry.expire(31)
    number = Number.objects.get(user=user).pk
    services.erase(user)
    backup().save(held)  # a flusher that read before, and stood still
    assert set(backup().kept(held)) == set(held)  # there is nothing of it that SQL ought to have
    backup().put_back(redis, held)  # a restore that did
    assert done.file is not None
    loading.load(done.file)
    filling.settle()
    restore(backup(), again=True)
    assert bits(redis, number) == []
    assert keys_of(redis, "loginLog_") == []
    assert not MonthBits.objects.exists()
    assert [bytes(row.bits) for row in DayBits.objects.all()] == [b""] * DayBits.objects.count()
    assert selectors.login_days(user, ago(100), ago(0)) == []


def test_who_was_erased_and_comes_back_begins_anew(redis: Redis) -> None:
    put_back()
    user = person("alice")
    services.mark(user, ago(1))
    old = Number.objects.get(user=user).pk
    services.erase(user)
    services.mark(user, ago(0))
    assert Number.objects.get(user=user).pk != old
    assert selectors.login_days(user, ago(5), ago(0)) == [ago(0)]
    sync()
    assert verify(backup()) == []


def test_another_process_that_still_knows_the_number_cannot_use_it(redis: Redis) -> None:
    put_back()
    user = person("alice")
    services.mark(user, ago(1))
    old = Number.objects.get(user=user).pk
    services.erase(user)
    numbers.known.keep({user.pk: old})
    services.mark(user, ago(0))
    assert bits(redis, old) == []
    numbers.known.keep({user.pk: old})
    services.mark_many([(user.pk, "client", ago(2))])
    assert bits(redis, old) == []
    assert selectors.login_days(user, ago(5), ago(0)) == [ago(2), ago(0)]


def test_bits_that_came_back_into_an_emptied_redis_are_wiped_by_the_next_sync(redis: Redis) -> None:
    user, other = person("alice"), person("bob")
    services.mark(user, ago(0))
    old = Number.objects.get(user=user).pk
    services.erase(user)
    redis.flushdb()
    numbers.known.keep({user.pk: old})
    services.mark(user, ago(0))
    services.mark(other, ago(0))
    sync()
    assert "loginDay" not in str(bits(redis, old))
    assert list(selectors.active_any(ago(0), ago(0))) == [other.pk]
    put_back()
    assert [d for d in verify(backup()) if d.kind != "stray"] == []


def test_without_redis_it_is_erased_in_sql_now_and_in_redis_later(redis_server: RedisServer) -> None:
    put_back()
    user = person("alice")
    services.mark(user, ago(0))
    number = Number.objects.get(user=user).pk
    with hung(redis_server):
        services.erase(user)
    breaker.reset()
    services.mark(user, ago(1))  # comes back before Redis is clean: that goes to SQL alone
    assert Erased.objects.get(number=number).user_pk == user.pk
    assert filling.settle()
    with redis_server.client() as redis:
        assert redis.getbit(keys.day(ago(0), "client"), number) == 0
    assert selectors.login_days(user, ago(5), ago(0)) == [ago(1)]
    sync()
    assert selectors.login_days(user, ago(5), ago(0)) == [ago(1)]


def test_cleaning_twice_leaves_what_was_marked_in_between(redis: Redis) -> None:
    put_back()
    user = person("alice")
    services.mark(user, ago(0))
    old = Number.objects.get(user=user).pk
    services.erase(user)
    services.mark(user, ago(0))
    Erased.objects.filter(number=old).update(user_pk=user.pk)  # another process is at it too, and late
    filling.settle()
    assert selectors.login_days(user, ago(5), ago(0)) == [ago(0)]


def test_everybody_of_a_day_can_be_erased_one_after_the_other() -> None:
    people = [person(f"reader {n}") for n in range(10)]
    services.mark_many([(user.pk, "client", ago(0)) for user in people])
    sync()
    for user in people:
        assert services.erase(user)
    assert [bytes(row.bits) for row in DayBits.objects.all()] == [b""]


def test_who_never_logged_in_has_nothing_to_erase() -> None:
    assert not services.erase(person("alice"))
    assert scripts.length(0) == 8192
