"""The backup of last-seen times, with its flush and restore."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.backups import LastSeenBackup
from accounts.models import LastSeen, Session
from accounts.sessions import ending, last_seen
from mirror.backup import registry
from mirror.backup.flush import flush
from mirror.backup.restore import put_right, restore
from mirror.backup.verify import verify
from tests.support.accounts.digests import digest, make_sessions, read_stored_digests, set_last_seen
from tests.support.locks import has_lock_wait
from tests.support.servers import wait_until

pytestmark = pytest.mark.django_db
backup = LastSeenBackup()
MOMENT = 1_795_000_000_123_456  # microseconds


def test_the_backup_is_registered() -> None:
    assert isinstance(registry.get("last_seen"), LastSeenBackup)
    assert registry.get("last_seen").marks() == keys.recent_marks()


def test_redis_and_sql_agree_to_the_microsecond(redis: Redis) -> None:
    sessions = make_sessions(300)
    for session in sessions:
        last_seen.begin(session)
    said = backup.read(redis, sessions)
    assert len(said) == 300
    with transaction.atomic():
        backup.save(said)
    assert backup.load(sessions) == said
    scores = redis.zrange(keys.recent(), 0, -1, withscores=True)
    redis.delete(keys.recent())
    backup.put_back(redis, backup.load(sessions))
    assert redis.zrange(keys.recent(), 0, -1, withscores=True) == scores
    assert redis.zcard(keys.recent_marks()) == 300  # put_back and read do not change the marks


def test_a_batch_is_one_statement(redis: Redis) -> None:
    sessions = make_sessions(1000)
    with CaptureQueriesContext(connection) as queries:
        backup.save(dict.fromkeys(sorted(sessions), MOMENT))
    assert len(queries) == 1
    assert LastSeen.objects.count() == 1000
    with CaptureQueriesContext(connection) as queries:
        assert len(backup.load(sessions)) == 1000
    assert len(queries) == 1


def test_sql_keeps_the_later_time() -> None:
    older, newer = sorted(make_sessions(2))
    backup.save({older: MOMENT, newer: MOMENT})
    backup.save({older: MOMENT - 1, newer: MOMENT + 1})
    assert backup.load([older, newer]) == {older: MOMENT, newer: MOMENT + 1}


def test_whole_seconds_compare_correctly() -> None:
    """SQLite compares times as texts, and Django omits the fraction of whole seconds."""
    (session,) = make_sessions(1)
    second = MOMENT // 10**6 * 10**6
    LastSeen.objects.create(session_id=session, seen_at=datetime.fromtimestamp(second // 10**6, tz=UTC))
    backup.save({session: second + 1})
    assert backup.load([session]) == {session: second + 1}
    backup.save({session: second})
    assert backup.load([session]) == {session: second + 1}


def test_times_without_a_session_are_skipped(redis: Redis) -> None:
    (session,) = make_sessions(1)
    backup.save({digest(7): MOMENT, session: MOMENT, digest(8): None})
    assert set(LastSeen.objects.values_list("pk", flat=True)) == {session}
    backup.save({digest(8): None})
    backup.save({})


def test_an_untouched_session_counts_as_seen_at_its_creation() -> None:
    (session,) = make_sessions(1)
    created = Session.objects.get().created_at
    assert backup.load([session]) == {
        session: (created - datetime.fromtimestamp(0, tz=UTC)) // timedelta(microseconds=1)
    }


def test_a_restore_keeps_newer_times_and_claims(redis: Redis) -> None:
    newer, older, claimed, absent = (digest(n) for n in range(4))
    redis.zadd(keys.recent(), {newer: 2000, older: 500, claimed: 0})
    backup.put_back(redis, dict.fromkeys([newer, older, claimed, absent], 1000 * 10**6))
    backup.put_back(redis, {})
    scores = {member.decode(): score for member, score in redis.zrange(keys.recent(), 0, -1, withscores=True)}
    assert scores == {newer: 2000, older: 1000, claimed: 0, absent: 1000}


def test_a_claimed_session_has_no_value(redis: Redis) -> None:
    redis.zadd(keys.recent(), {digest(1): 0})
    assert backup.read(redis, [digest(1), digest(2)]) == {}


def test_every_session_is_listed_once_in_ascending_order() -> None:
    sessions = make_sessions(7)
    found: list[str] = []
    after = None
    while some := backup.items_after(after, 3):
        found, after = found + some, some[-1]
    assert found == sorted(sessions)


def test_redis_is_scanned_in_batches(redis: Redis) -> None:
    sessions = [digest(n) for n in range(3000)]
    set_last_seen(redis, sessions)
    pieces = list(backup.scan(redis))
    assert {item for piece in pieces for item in piece} == set(sessions)
    assert len(pieces) > 1
    redis.delete(keys.recent())
    assert [item for piece in backup.scan(redis) for item in piece] == []


def test_a_digest_without_a_session_is_a_stray(redis: Redis) -> None:
    (session,) = make_sessions(1)
    set_last_seen(redis, [session, digest(5)])
    assert backup.is_stray([session, digest(5)]) == [digest(5)]
    backup.drop(redis, [digest(5)])
    assert redis.zrange(keys.recent(), 0, -1) == [session.encode()]


@contextmanager
def _beside(work: Callable[[], object]) -> Iterator[None]:
    """Run ``work`` in a thread after the block, while the block's transaction still holds its locks."""

    def run() -> object:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            yield
            done = pool.submit(run)
            wait_until(has_lock_wait, "a lock that is waited for")
        done.result()


@pytest.mark.on_postgres
@pytest.mark.django_db(transaction=True)
def test_a_session_that_is_being_deleted_is_skipped() -> None:
    going, staying = make_sessions(2)
    with _beside(lambda: backup.save({going: MOMENT, staying: MOMENT})):
        Session.objects.filter(pk=going).delete()
    assert list(LastSeen.objects.values_list("pk", flat=True)) == [staying]


@pytest.mark.on_postgres
@pytest.mark.django_db(transaction=True)
def test_a_session_can_end_during_a_flush() -> None:
    going, staying = make_sessions(2)
    with _beside(lambda: ending.delete_sessions([going])):
        backup.save({going: MOMENT, staying: MOMENT})
    assert read_stored_digests() == {staying}
    assert list(LastSeen.objects.values_list("pk", flat=True)) == [staying]


@pytest.mark.django_db(transaction=True)
def test_a_flush_writes_one_statement_per_batch(redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BATCH": 400}
    sessions = make_sessions(1200)
    for session in sessions:
        last_seen.begin(session)
    times = backup.read(redis, sessions)
    flush(backup, items=sessions[:1])  # the first flush begins the epoch
    with CaptureQueriesContext(connection) as queries:
        assert flush(backup).items == 1199
    written = [query["sql"] for query in queries if "accounts_lastseen" in query["sql"]]
    assert len(written) == 3
    assert backup.load(sessions) == times
    assert redis.zcard(keys.recent_marks()) == 0
    assert flush(backup).items == 0


@pytest.mark.django_db(transaction=True)
def test_a_restore_brings_back_every_session_of_sql(redis: Redis) -> None:
    seen, unseen = make_sessions(20), make_sessions(5, start=20)
    for session in seen:
        last_seen.begin(session)
    times = last_seen.read_last_seen(seen)
    flush(backup)
    redis.flushall()
    last_seen.touch(seen[0], None)  # a request before the restore
    times |= last_seen.read_last_seen(seen[:1])
    restore(backup)
    made = {session: value / 1e6 for session, value in backup.load(unseen).items()}
    assert last_seen.read_last_seen(seen + unseen) == times | made
    flush(backup)
    assert list(verify(backup)) == []


@pytest.mark.django_db(transaction=True)
def test_a_session_ended_before_the_flush_causes_no_failure(redis: Redis) -> None:
    ended, other = make_sessions(2)
    last_seen.begin(ended)
    last_seen.begin(other)
    Session.objects.filter(pk=ended).delete()
    flush(backup)
    assert list(LastSeen.objects.values_list("pk", flat=True)) == [other]
    assert redis.zcard(keys.recent_marks()) == 0
    set_last_seen(redis, [ended])
    assert [(d.item, d.kind) for d in verify(backup)] == [(ended, "stray")]
    assert put_right(backup, verify(backup)) == []
    assert redis.zrange(keys.recent(), 0, -1) == [other.encode()]
