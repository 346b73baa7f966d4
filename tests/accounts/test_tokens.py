"""Last-seen times of sessions in Redis."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.sessions import last_seen
from accounts.visits import last_uses
from mirror.metrics import counted
from mirror.redis.naming import with_prefix
from mirror.redis.recorder import record
from tests.support.accounts.digests import digest, make_sessions, read_recent_digests, set_last_seen
from tests.support.servers import RedisServer

pytestmark = pytest.mark.django_db


def _seconds(redis: Redis) -> float:
    seconds, micros = redis.time()
    return float(seconds) + float(micros) / 1e6


def read_entries(redis: Redis) -> list[tuple[str, float]]:
    """Return the digests and times in the stream of visits."""
    entries: list[tuple[bytes, dict[bytes, bytes]]] = redis.xrange(last_uses.keys[0])  # type: ignore[assignment]
    return [(fields[b"session"].decode(), int(fields[b"at"]) / 1e6) for _, fields in entries]


def test_a_touch_records_the_time_of_redis_and_adds_a_visit(redis: Redis) -> None:
    (session,) = make_sessions(1)
    before = _seconds(redis)
    assert last_seen.touch(session, None)
    assert before <= last_seen.read_last_seen([session])[session] <= _seconds(redis)
    assert read_entries(redis) == [(session, redis.zscore(keys.recent(), session))]


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
    first, entries = redis.zscore(keys.recent(), session), read_entries(redis)
    assert last_seen.touch(session, old)
    assert (redis.zscore(keys.recent(), session), read_entries(redis)) == (first, entries)
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
    assert read_entries(redis) == []


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
    assert len(read_entries(redis)) == 1


def test_removed_sessions_leave_the_recent_ones(redis: Redis) -> None:
    sessions = make_sessions(2500)
    for session in sessions[:10]:
        last_seen.begin(session)
    set_last_seen(redis, sessions[10:])
    last_seen.forget(sessions[:9] + sessions[10:])
    last_seen.forget([])
    assert read_recent_digests(redis) == {sessions[9]}


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


def test_the_stream_shares_a_cluster_slot_with_the_times() -> None:
    for key in last_uses.keys:
        assert key[key.index("{") + 1 : key.index("}")] == with_prefix(keys.recent())


def test_uses_that_redis_does_not_take_are_counted(redis_server: RedisServer) -> None:
    counts: list[tuple[str, int, dict[str, str]]] = []

    def add(*, name: str, value: int, labels: dict[str, str], **kwargs: object) -> None:
        counts.append((name, value, labels))

    redis_server.kill()
    counted.connect(add)
    last_seen.begin(digest(1))
    counted.disconnect(add)
    assert counts == [("visits_dropped", 1, {"kind": "last_seen", "reason": "unavailable"})]
