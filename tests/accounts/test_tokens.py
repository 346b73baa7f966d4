"""Last-seen times of sessions in Redis."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.sessions import last_seen
from mirror.redis.naming import with_prefix
from mirror.redis.recorder import record
from tests.support.accounts.digests import digest, make_sessions, read_recent_digests, set_last_seen
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.django_db, pytest.mark.on_sqlite]


def _seconds(redis: Redis) -> float:
    seconds, micros = redis.time()
    return float(seconds) + float(micros) / 1e6


def test_a_touch_records_and_marks_the_time_of_redis(redis: Redis) -> None:
    (session,) = make_sessions(1)
    before = _seconds(redis)
    assert last_seen.touch(session, None)
    assert before <= last_seen.read_last_seen([session])[session] <= _seconds(redis)
    assert redis.zrange(keys.recent_marks(), 0, -1) == [session.encode()]


def test_a_touch_needs_one_round_trip_and_no_sql(redis: Redis) -> None:
    (session,) = make_sessions(1)
    last_seen.begin(session)
    set_last_seen(redis, [session])
    seen = redis.zscore(keys.recent(), session)
    with record() as recording:
        assert last_seen.touch(session, seen)
    assert (recording.round_trips, recording.sql) == (1, [])


def test_a_recent_time_costs_no_round_trip(redis: Redis) -> None:
    (session,) = make_sessions(1)
    last_seen.begin(session)
    seen = redis.zscore(keys.recent(), session)
    with record() as recording:
        assert last_seen.touch(session, seen)
    assert (recording.round_trips, recording.sql) == (0, [])


def test_concurrent_requests_write_once(redis: Redis) -> None:
    (session,) = make_sessions(1)
    set_last_seen(redis, [session])
    old = redis.zscore(keys.recent(), session)
    assert last_seen.touch(session, old)
    first, mark = redis.zscore(keys.recent(), session), redis.zscore(keys.recent_marks(), session)
    assert last_seen.touch(session, old)
    assert (redis.zscore(keys.recent(), session), redis.zscore(keys.recent_marks(), session)) == (first, mark)
    assert first != old


def test_a_time_never_decreases(redis: Redis, settings: Settings) -> None:
    settings.SESSION_TOUCH_SECONDS = 0
    (session,) = make_sessions(1)
    set_last_seen(redis, [session], seconds=-3600)  # the clock of Redis was ahead
    ahead = redis.zscore(keys.recent(), session)
    assert last_seen.touch(session, None)
    assert redis.zscore(keys.recent(), session) == ahead


def test_a_claimed_session_cannot_be_touched(redis: Redis) -> None:
    (session,) = make_sessions(1)
    redis.zadd(keys.recent(), {session: 0})
    assert not last_seen.touch(session, 0.0)
    assert not last_seen.touch(session, 1.0)
    assert not last_seen.touch(session, None)
    assert not last_seen.begin(session)
    assert redis.zscore(keys.recent(), session) == 0
    assert redis.zcard(keys.recent_marks()) == 0


def test_a_late_touch_does_not_bring_back_a_removed_session(redis: Redis) -> None:
    assert not last_seen.touch(digest(1), 1.0)
    assert not last_seen.touch(digest(1), None)
    assert read_recent_digests(redis) == set()


def test_a_touch_brings_back_a_session_that_redis_lost(redis: Redis) -> None:
    (session,) = make_sessions(1)
    with CaptureQueriesContext(connection) as queries:
        assert last_seen.touch(session, None)
    assert len(queries) == 1
    assert read_recent_digests(redis) == {session}
    assert redis.zcard(keys.recent_marks()) == 1


def test_removed_sessions_leave_no_mark(redis: Redis) -> None:
    sessions = make_sessions(2500)
    for session in sessions[:10]:
        last_seen.begin(session)
    set_last_seen(redis, sessions[10:])
    last_seen.forget(sessions[:9] + sessions[10:])
    last_seen.forget([])
    assert read_recent_digests(redis) == {sessions[9]}
    assert redis.zrange(keys.recent_marks(), 0, -1) == [sessions[9].encode()]


def test_last_seen_omits_claimed_and_unknown_sessions(redis: Redis) -> None:
    a, b, c = make_sessions(3)
    redis.zadd(keys.recent(), {a: 12.5, b: 0})
    assert last_seen.read_last_seen([a, b, c]) == {a: 12.5}
    assert last_seen.read_last_seen([]) == {}


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_no_session_ends_without_redis(redis_server: RedisServer, harm: str) -> None:
    (session,) = make_sessions(1)
    last_seen.begin(session)
    getattr(redis_server, harm)()
    assert last_seen.touch(session, 1.0)
    assert last_seen.touch(session, None)
    assert last_seen.begin(session)
    assert last_seen.read_last_seen([session]) == {}
    last_seen.forget([session])


def test_both_keys_share_a_cluster_slot() -> None:
    recent, marks = last_seen.list_keys()
    assert marks[marks.index("{") + 1 : marks.index("}")] == with_prefix(recent)
