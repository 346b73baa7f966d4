"""Prefetched reads are answered from one round trip. Other reads ask Redis as usual."""

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis
from redis.client import Pipeline

from mirror import registry
from mirror.read.prefetch import Asked, Prefetched, fetch, known
from mirror.read.reads import read
from mirror.redis import naming
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.relay.sql_only import sql_only
from mirror.upkeep import rebuild
from tests.projects.mirrortest.models import Odd
from tests.support.servers import RedisServer

pytestmark = pytest.mark.also_on("cluster")

NAME = "t'odd"


@pytest.fixture(autouse=True)
def whole(committed: None, no_hints: None) -> None:
    """Create two rows in warm mirrors."""
    Odd.objects.create(code="a")
    Odd.objects.create(code="b")
    rebuild.rebuild([NAME, "tgroup"])
    drains.drain_all()


def asked(*codes: str, mirror: str = NAME) -> Asked:
    return Asked.of([mirror], lambda pipe: [pipe.get(registry.get(NAME).record_key(code)) for code in codes])


def get(*codes: str, mirror: str = NAME) -> list[Any] | None:
    found = read([mirror], lambda pipe: [pipe.get(registry.get(NAME).record_key(code)) for code in codes])
    return found and found.replies


def fetched(*guesses: Asked) -> Prefetched:
    found = fetch(asked("a"), guesses)
    assert found is not None
    return found


A, B = b'{"code":"a"}', b'{"code":"b"}'


def test_prefetched_reads_send_nothing() -> None:
    with record() as seen, known(fetched(asked("b", mirror="tgroup"))):
        assert (get("a"), get("b", mirror="tgroup"), get("a")) == ([A], [B], [A])
    assert (seen.round_trips, seen.sql) == (1, [])


def test_read_can_combine_separately_prefetched_commands() -> None:
    with record() as seen, known(fetched(asked("b"))):
        assert get("b", "a", "b") == [B, A, B]
    assert seen.round_trips == 1


def test_prefetched_read_equals_an_ordinary_read() -> None:
    plain = read([NAME], lambda pipe: pipe.get("nothing"))
    with known(fetched(Asked.of([NAME], lambda pipe: pipe.get("nothing")))) as _:
        assert read([NAME], lambda pipe: pipe.get("nothing")) == plain


@pytest.mark.parametrize(
    "ask", [lambda: get("b"), lambda: get("a", "b"), lambda: get("a", mirror="tgroup")], ids=["row", "rows", "mirror"]
)
def test_other_reads_ask_redis_and_count_as_missed(ask: Callable[[], Any]) -> None:
    ahead = fetched()
    with record() as seen, known(ahead):
        ask()
    assert (seen.round_trips, ahead.missed, len(ahead.asked)) == (1, 1, 1)


def test_recorded_reads_are_the_guess_for_the_next_request() -> None:
    ahead = fetched()
    with known(ahead):
        get("b")
    with record() as seen, known(fetched(*ahead.asked)):
        assert get("b") == [B]
    assert seen.round_trips == 1


def test_sorted_sets_are_identified_by_command_and_options(redis: Redis) -> None:
    redis.zadd("z", {"one": 1, "two": 2})

    def ask(pipe: Pipeline, *, scores: bool) -> None:
        pipe.zrange("z", 0, -1, withscores=scores)

    with known(fetched(Asked.of([NAME], lambda pipe: ask(pipe, scores=True)))):
        for scores in (True, False, True):
            found = read([NAME], lambda pipe, scores=scores: ask(pipe, scores=scores))  # type: ignore[misc]
            assert found
            names = [name[0] if scores else name for name in found.replies[0]]
            assert names == [b"one", b"two"]
            found.replies[0].clear()  # callers may modify the replies


def test_repeated_command_gets_its_own_reply_each_time(redis: Redis) -> None:
    twice = Asked.of([NAME], lambda pipe: pipe.incr("n").get("n").incr("n").get("n"))
    with known(fetched(twice)):
        found = read([NAME], lambda pipe: pipe.get("n").get("n").get("n"))
    assert found
    assert found.replies == [b"1", b"2", b"2"]


def test_writing_and_large_reads_are_not_harmless_guesses() -> None:
    assert asked("a").is_harmless()
    assert not Asked.of([NAME], lambda pipe: pipe.get("n").incr("n")).is_harmless()
    assert not Asked.of([NAME], lambda pipe: pipe.mget(["n"] * 1000)).is_harmless()


def test_guess_with_a_cold_mirror_is_left_to_sql(redis: Redis) -> None:
    redis.delete(naming.marker("tgroup"))
    ahead = fetched(asked("b", mirror="tgroup"), asked("b"))
    assert [said and said.replies for said in ahead.readings] == [[A], None, [B]]
    with known(ahead):
        assert get("b", mirror="tgroup") is None
        assert get("b") == [B]


def test_fetch_returns_none_if_the_required_mirror_is_cold(redis: Redis) -> None:
    redis.delete(naming.marker(NAME))
    assert fetch(asked("a")) is None


def test_marker_of_another_incarnation_does_not_count(redis: Redis) -> None:
    redis.set(naming.marker(NAME), redis.get(naming.marker(NAME)).replace(b"|", b"|x", 1))
    assert fetch(asked("a")) is None


def test_sql_only_ignores_prefetched_reads() -> None:
    ahead = fetched()
    with sql_only(), known(ahead):
        assert fetch(asked("a")) is None
        assert get("a") is None


def test_fetch_returns_none_without_redis(redis_server: RedisServer) -> None:
    redis_server.kill()
    assert fetch(asked("a")) is None
    assert breaker.open()


def test_block_of_a_fetch_that_sql_answers_reads_as_usual() -> None:
    with sql_only():
        ahead = fetch(asked("a"))
    assert ahead is None
    with record() as seen, known(ahead):
        assert get("a") == [A]
    assert seen.round_trips == 1


def test_prefetched_reads_need_no_redis(redis_server: RedisServer) -> None:
    rebuild.rebuild([NAME])
    ahead = fetched()
    redis_server.kill()
    breaker.failed()
    with known(ahead):
        assert get("a") == [A]
        assert get("b") is None


def test_additional_commands_share_the_round_trip() -> None:
    with record() as seen:
        found = fetch(asked("a"), [asked("b")], lambda pipe: pipe.ping().exists("nothing"))
    assert found
    assert (found.beside, seen.round_trips) == ([True, 0], 1)


def test_prefetched_reads_end_with_the_block() -> None:
    with known(fetched()):
        pass
    with record() as seen:
        get("a")
    assert seen.round_trips == 1


def test_fork_shares_replies_and_records_its_own_reads() -> None:
    ahead = fetched()
    fork = ahead.fork()
    with known(fork):
        assert get("a") == [A]
    assert (len(fork.asked), ahead.asked) == (1, [])
