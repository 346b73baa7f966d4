"""Rate limits count exactly, per subject, also without Redis."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import RequestFactory
from redis import Redis

from accounts import keys, ratelimit
from accounts.ratelimit import LocalCounters, count_event, get_client_address, give_back
from mirror.redis.recorder import record
from tests.support.servers import RedisServer


def limit_keys(redis: Redis) -> list[bytes]:
    return list(redis.scan_iter(keys.limit("*", "*")))


def test_events_above_the_limit_must_wait(redis: Redis) -> None:
    assert [count_event("knock", "alice", 3, 3600) for _ in range(3)] == [0, 0, 0]
    assert 0 < count_event("knock", "alice", 3, 3600) <= 3600
    assert count_event("knock", "bob", 3, 3600) == 0
    assert count_event("ring", "alice", 3, 3600) == 0


def test_a_limit_ends_with_its_period(redis: Redis) -> None:
    count_event("knock", "alice", 1, 3600)
    (counter,) = limit_keys(redis)
    assert 0 < redis.pttl(counter) <= 3_600_000
    redis.pexpire(counter, 1_800_000)
    assert count_event("knock", "alice", 1, 3600) > 0
    assert redis.pttl(counter) <= 1_800_000  # refused events do not prolong the period
    redis.pexpire(counter, 1)
    while redis.exists(counter):
        pass
    assert count_event("knock", "alice", 1, 3600) == 0


def test_counting_costs_one_round_trip_and_keys_hide_the_subject(redis: Redis) -> None:
    count_event("knock", "alice@example.org", 3, 3600)
    with record() as seen:
        count_event("knock", "alice@example.org", 3, 3600)
    assert seen.round_trips == 1
    assert all(b"alice" not in key for key in limit_keys(redis))


def test_concurrent_events_never_exceed_the_limit() -> None:
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: count_event("knock", "alice", 20, 3600), range(200)))
    assert waits.count(0) == 20


def test_a_process_counts_on_its_own_without_redis(redis_server: RedisServer) -> None:
    redis_server.kill()
    assert [count_event("knock", "alice", 2, 3600) == 0 for _ in range(4)] == [True, True, False, False]


def test_a_key_of_another_type_causes_no_failure(redis: Redis) -> None:
    count_event("knock", "alice", 1, 3600)
    (counter,) = limit_keys(redis)
    redis.delete(counter)
    redis.sadd(counter, "odd")
    assert count_event("knock", "alice", 1, 3600) == 0


def test_local_counters_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratelimit, "MAX_LOCAL_COUNTERS", 3)
    counters = LocalCounters()
    for n in range(10):
        assert counters.count_event(f"visitor {n}", 1, 3600) == 0
    assert len(counters._counters) == 3
    assert counters.count_event("visitor 9", 1, 3600) > 0


def test_a_local_limit_ends_with_its_period() -> None:
    counters = LocalCounters()
    assert counters.count_event("alice", 1, 0) == 0
    assert counters.count_event("alice", 1, 0) == 0


@pytest.mark.parametrize("away", [False, True], ids=["with redis", "without"])
def test_an_event_can_be_given_back(away: bool, redis_server: RedisServer) -> None:
    if away:
        redis_server.kill()
    give_back("knock", "alice")
    for _ in range(5):
        assert count_event("knock", "alice", 2, 3600) == 0
        give_back("knock", "alice")
    assert [count_event("knock", "alice", 2, 3600) == 0 for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("given", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
        ("unix:", "unix:"),
    ],
)
def test_a_visitor_is_counted_by_address(given: str, counted: str) -> None:
    assert get_client_address(RequestFactory().get("/", REMOTE_ADDR=given)) == counted
