"""Removal of a login: no older copy of its bit brings it back, and a later mark counts."""

from collections.abc import Callable
from datetime import date

import pytest
from django.test import Client
from redis import Redis

from accounts.models import User
from loginlog import keys, selectors, services
from loginlog.archive import expiry, loading
from loginlog.corrections import removal, settling
from loginlog.models import Number, Unmarked
from mirror.backup.restore import restore
from mirror.backup.sweep import sweep
from mirror.backup.verify import verify
from mirror.redis.clients import breaker
from tests.support.loginlog.tools import ago, backup, make_user, restore_login_log, sync
from tests.support.mirror.backup_world import Lives
from tests.support.mirror.backup_world import lives as lives
from tests.support.servers import RedisServer
from tests.support.timeouts import hung

pytestmark = pytest.mark.django_db(transaction=True)
OLD = 100  # days ago, old enough to expire


@pytest.fixture
def user(redis: Redis) -> User:
    """Create a user with three login days, one of them with two types, and another user with the same days."""
    restore_login_log()
    alice, bob = make_user("alice"), make_user("bob")
    for who in (alice, bob):
        services.mark_logins([(who.pk, "client", ago(n)) for n in (0, 1, OLD)])
    services.mark_logins([(alice.pk, "office", ago(1))])
    return alice


def logins(user: User) -> list[date]:
    return selectors.find_login_days(user, ago(OLD), ago(0))


def assert_agrees(user: User, *wanted: date) -> None:
    """Assert that at rest Redis and SQL have these logins of the user, and all logins of the other user."""
    settling.settle_redis()
    sync()
    restore_login_log()
    assert verify(backup()) == []
    for _ in ("Redis", "SQL"):
        assert logins(user) == sorted(wanted)
        assert len(selectors.find_login_days(User.objects.get(username="bob"), ago(OLD), ago(0))) == 3
        assert (user.pk in selectors.find_active_ids_of_any_type(ago(1), ago(1))) == (ago(1) in wanted)
        breaker.failed()
    breaker.reset()


@pytest.mark.parametrize("flush", [sync, lambda: None], ids=["flushed", "marked"])
def test_a_removed_login_disappears_for_all_types(flush: Callable[[], object], user: User) -> None:
    flush()
    assert services.remove_login(user, ago(1)) is True
    assert logins(user) == [ago(OLD), ago(0)]
    assert_agrees(user, ago(OLD), ago(0))
    assert services.remove_login(user, ago(1)) is False


def test_no_flush_restore_or_file_brings_a_removed_login_back(user: User, redis: Redis) -> None:
    sync()
    held = dict(backup().read(redis, backup().items_after(None, 100)))
    (done,) = expiry.expire_months(31)
    assert done.file is not None
    services.remove_login(user, ago(0))
    services.remove_login(user, ago(OLD))
    backup().save(held)  # a paused flush that had read the bits before
    assert set(backup().kept(held)) == set(held)
    backup().put_back(redis, held)  # a paused restore
    assert redis.getbit(keys.day(ago(0), "client"), Number.objects.get(user=user).pk) == 0
    loading.load_file(done.file)
    settling.settle_redis()
    restore(backup(), again=True)
    assert_agrees(user, ago(1))


def test_an_older_redis_does_not_bring_a_removed_login_back(user: User, lives: Lives) -> None:
    restore(backup())
    services.mark_login(user, ago(2))
    services.mark_login(user, ago(3))
    past = lives.past()
    services.remove_login(user, ago(2))
    services.remove_login(user, ago(3))
    lives.come_back(past)
    services.mark_login(user, ago(3))  # before the restore
    sync()
    assert ago(2) not in logins(user)
    assert ago(3) in logins(user)


def do_nothing(redis: Redis) -> None:
    """Do nothing between the removal and the mark."""


def empty_redis(redis: Redis) -> None:
    redis.flushall()


def empty_and_restore(redis: Redis) -> None:
    redis.flushall()
    restore_login_log()


def sweep_backups(redis: Redis) -> None:
    settling.settle_redis()
    sweep()


EVENTS = [do_nothing, empty_redis, empty_and_restore, sweep_backups]


@pytest.mark.parametrize("after", EVENTS)
@pytest.mark.parametrize("before", EVENTS)
@pytest.mark.parametrize("many", [False, True])
def test_a_later_mark_counts(
    many: bool, before: Callable[[Redis], None], after: Callable[[Redis], None], user: User, redis: Redis
) -> None:
    sync()
    services.remove_login(user, ago(1))
    before(redis)
    if many:
        assert services.mark_logins([(user.pk, "client", ago(1)), (user.pk, "client", ago(0))])
    else:
        assert services.mark_login(user, ago(1))
    assert ago(1) in logins(user)
    sync()
    after(redis)
    assert_agrees(user, ago(OLD), ago(1), ago(0))
    assert services.remove_login(user, ago(1))
    assert_agrees(user, ago(OLD), ago(0))


def test_a_late_cleanup_keeps_a_later_mark(user: User, redis: Redis) -> None:
    services.remove_login(user, ago(1))
    read_before = list(Unmarked.objects.select_related("number"))
    services.mark_login(user, ago(1))
    removal.apply_removals(redis, read_before)
    assert_agrees(user, ago(OLD), ago(1), ago(0))


def test_a_removal_without_redis_reaches_redis_later(redis_server: RedisServer) -> None:
    restore_login_log()
    user = make_user("alice")
    services.mark_login(user, ago(0))
    sync()
    services.mark_login(user, ago(1))  # not in SQL yet
    with hung(redis_server):
        assert services.remove_login(user, ago(0)) is True
        assert services.remove_login(user, ago(1)) is None
        assert logins(user) == []
    breaker.reset()
    assert settling.settle_redis()
    assert logins(user) == []
    sync()
    assert verify(backup()) == []
    assert logins(user) == []


def test_a_later_mark_without_redis_counts(redis_server: RedisServer) -> None:
    restore_login_log()
    user = make_user("alice")
    services.mark_login(user, ago(0))
    sync()
    with hung(redis_server):
        services.remove_login(user, ago(0))
        services.mark_login(user, ago(0))
        assert logins(user) == [ago(0)]
    breaker.reset()
    assert settling.settle_redis()
    restore_login_log()
    assert logins(user) == [ago(0)]
    assert verify(backup()) == []


def test_removing_a_missing_login_leaves_no_row(user: User) -> None:
    assert services.remove_login(user, ago(5)) is False
    assert services.remove_login(make_user("carol"), ago(1)) is False
    assert not Unmarked.objects.exists()


def test_a_login_after_its_removal_counts_on_the_same_day(client: Client) -> None:
    user = make_user("alice")
    client.force_login(user)
    services.remove_login(user, ago(0))
    client.get("/accounts/leaderboard/")
    assert logins(user) == []
    Client().force_login(user)
    assert logins(user) == [ago(0)]


def test_an_erasure_deletes_removals(user: User) -> None:
    services.remove_login(user, ago(1))
    services.erase_user(user)
    assert not Unmarked.objects.exists()
    services.mark_login(user, ago(1))
    assert logins(user) == [ago(1)]
