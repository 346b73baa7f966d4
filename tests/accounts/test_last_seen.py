"""Last-seen times as visits: their rows in SQL, and the restore of ``recent:`` after a loss of Redis."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.models import LastSeen, Session
from accounts.sessions import ending, last_seen
from accounts.visits import LastUse, last_uses, put_back
from mirror.visits import Visit, consume, restore, statuses
from tests.support.accounts.digests import digest, make_sessions, read_stored_digests
from tests.support.locks import has_lock_wait
from tests.support.servers import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("cluster")]
MOMENT = datetime(2026, 11, 20, 12, 5, 1, 123456, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def save(times: Mapping[str, datetime]) -> None:
    last_uses.save([Visit(number, LastUse(*item)) for number, item in enumerate(times.items())])


def read_rows() -> dict[str, datetime]:
    return dict(LastSeen.objects.values_list("pk", "seen_at"))


def read_scores(redis: Redis) -> dict[str, float]:
    return {member.decode(): score for member, score in redis.zrange(keys.recent(), 0, -1, withscores=True)}


def count_waiting(redis: Redis) -> int:
    return int(redis.xlen(last_uses.keys[0]))


@pytest.mark.django_db(transaction=True)
def test_redis_and_sql_agree_to_the_microsecond(redis: Redis) -> None:
    sessions = make_sessions(300)
    for session in sessions:
        last_seen.begin(session)
    scores = read_scores(redis)
    assert consume(last_uses) == len(scores) == 300
    assert {session: round(seen_at.timestamp() * 1e6) for session, seen_at in read_rows().items()} == {
        session: round(score * 1e6) for session, score in scores.items()
    }
    redis.delete(keys.recent())
    put_back(redis, read_rows())
    assert read_scores(redis) == scores
    assert count_waiting(redis) == 0


def test_a_batch_is_one_statement() -> None:
    sessions = make_sessions(1000)
    with CaptureQueriesContext(connection) as queries:
        save(dict.fromkeys(sessions, MOMENT))
    assert len(queries) == 1
    assert LastSeen.objects.count() == 1000


def test_sql_keeps_the_later_time() -> None:
    older, newer = sorted(make_sessions(2))
    save({older: MOMENT, newer: MOMENT})
    save({older: MOMENT - MICROSECOND, newer: MOMENT + MICROSECOND})
    assert read_rows() == {older: MOMENT, newer: MOMENT + MICROSECOND}


def test_the_latest_of_several_uses_in_a_batch_is_saved() -> None:
    (session,) = make_sessions(1)
    times = [MOMENT, MOMENT + MICROSECOND, MOMENT - MICROSECOND]
    last_uses.save([Visit(number, LastUse(session, at)) for number, at in enumerate(times)])
    assert read_rows() == {session: MOMENT + MICROSECOND}


def test_whole_seconds_compare_correctly() -> None:
    """SQLite compares times as texts, and Django omits the fraction of whole seconds."""
    (session,) = make_sessions(1)
    second = MOMENT.replace(microsecond=0)
    LastSeen.objects.create(session_id=session, seen_at=second)
    save({session: second + MICROSECOND})
    assert read_rows() == {session: second + MICROSECOND}
    save({session: second})
    assert read_rows() == {session: second + MICROSECOND}


def test_times_without_a_session_are_skipped() -> None:
    (session,) = make_sessions(1)
    save({digest(7): MOMENT, session: MOMENT})
    assert set(read_rows()) == {session}
    save({digest(8): MOMENT})


def test_a_restore_keeps_later_times_and_claims(redis: Redis) -> None:
    newer, older, claimed, absent = (digest(n) for n in range(4))
    redis.zadd(keys.recent(), {newer: 2000, older: 500, claimed: 0})
    put_back(redis, dict.fromkeys([newer, older, claimed, absent], datetime.fromtimestamp(1000, tz=UTC)))
    put_back(redis, {})
    assert read_scores(redis) == {newer: 2000, older: 1000, claimed: 0, absent: 1000}


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


@pytest.mark.only_on("postgres")
@pytest.mark.django_db(transaction=True)
def test_a_session_that_is_being_deleted_is_skipped() -> None:
    going, staying = make_sessions(2)
    with _beside(lambda: save({going: MOMENT, staying: MOMENT})):
        Session.objects.filter(pk=going).delete()
    assert list(read_rows()) == [staying]


@pytest.mark.only_on("postgres")
@pytest.mark.django_db(transaction=True)
def test_a_session_can_end_while_its_time_is_written() -> None:
    going, staying = make_sessions(2)
    with _beside(lambda: ending.delete_sessions([going])):
        save({going: MOMENT, staying: MOMENT})
    assert read_stored_digests() == {staying}
    assert list(read_rows()) == [staying]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("chunk", [10, 25, 1000])
def test_a_restore_brings_back_every_session_of_sql(redis: Redis, settings: Settings, chunk: int) -> None:
    """A session without a row of its last use counts as seen at its creation."""
    settings.MIRROR = {**settings.MIRROR, "CHUNK": chunk}
    seen, unseen = make_sessions(20), make_sessions(5, start=20)
    for session in seen:
        last_seen.begin(session)
    times = last_seen.read_last_seen(seen)
    consume(last_uses)
    redis.flushall()
    last_seen.touch(seen[0], None)  # a request before the restore
    times |= last_seen.read_last_seen(seen[:1])
    assert not next(status for status in statuses() if status.kind == "last_seen").restored
    assert restore(last_uses)
    made = {row.pk: row.created_at.timestamp() for row in Session.objects.filter(pk__in=unseen)}
    assert last_seen.read_last_seen(seen + unseen) == times | made
    assert next(status for status in statuses() if status.kind == "last_seen").restored


@pytest.mark.django_db(transaction=True)
def test_a_session_that_ended_before_its_use_was_written_stops_no_other(redis: Redis) -> None:
    ended, other = make_sessions(2)
    last_seen.begin(ended)
    last_seen.begin(other)
    Session.objects.filter(pk=ended).delete()
    assert consume(last_uses) == 2
    assert list(read_rows()) == [other]
    assert count_waiting(redis) == 0
