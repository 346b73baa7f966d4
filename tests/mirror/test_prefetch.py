"""Reads that were foreseen are answered from one round trip, with what they would have said; others ask as always."""

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from mirror import naming, rebuild, registry, relay
from mirror.prefetch import Asked, Prefetched, fetch, known
from mirror.read import read
from mirror.recorder import record
from mirror.redis import breaker
from mirror.sql_only import sql_only
from tests.support.mirror.app.models import Odd
from tests.support.servers import RedisServer

NAME = "t'odd"


@pytest.fixture(autouse=True)
def whole(committed: None, no_hints: None) -> None:
    """Two rows, and the mirrors warm."""
    Odd.objects.create(code="a")
    Odd.objects.create(code="b")
    rebuild.rebuild([NAME, "tgroup"])
    relay.drain_all()


def asked(*codes: str, mirror: str = NAME) -> Asked:
    return Asked.of([mirror], lambda pipe: [pipe.get(registry.get(NAME).key(code)) for code in codes])


def get(*codes: str, mirror: str = NAME) -> list[Any] | None:
    found = read([mirror], lambda pipe: [pipe.get(registry.get(NAME).key(code)) for code in codes])
    return found and found.replies


def fetched(*guesses: Asked) -> Prefetched:
    found = fetch(asked("a"), guesses)
    assert found is not None
    return found


A, B = b'{"code":"a"}', b'{"code":"b"}'


def test_what_was_fetched_is_not_asked_again() -> None:
    with record() as seen, known(fetched(asked("b", mirror="tgroup"))):
        assert (get("a"), get("b", mirror="tgroup"), get("a")) == ([A], [B], [A])
    assert (seen.round_trips, seen.sql) == (1, [])


def test_a_read_may_be_of_several_things_that_were_fetched_apart() -> None:
    with record() as seen, known(fetched(asked("b"))):
        assert get("b", "a", "b") == [B, A, B]
    assert seen.round_trips == 1


def test_it_says_the_same_as_a_read_of_its_own() -> None:
    plain = read([NAME], lambda pipe: pipe.get("nothing"))
    with known(fetched(Asked.of([NAME], lambda pipe: pipe.get("nothing")))) as _:
        assert read([NAME], lambda pipe: pipe.get("nothing")) == plain


@pytest.mark.parametrize(
    "ask", [lambda: get("b"), lambda: get("a", "b"), lambda: get("a", mirror="tgroup")], ids=["row", "rows", "mirror"]
)
def test_what_was_not_foreseen_is_asked_as_always(ask: Callable[[], Any]) -> None:
    ahead = fetched()
    with record() as seen, known(ahead):
        ask()
    assert (seen.round_trips, ahead.missed, len(ahead.asked)) == (1, 1, 1)


def test_what_was_asked_is_the_guess_for_the_next_time() -> None:
    ahead = fetched()
    with known(ahead):
        get("b")
    with record() as seen, known(fetched(*ahead.asked)):
        assert get("b") == [B]
    assert seen.round_trips == 1


def test_windows_are_known_by_what_is_asked_of_them_and_how(redis: Redis) -> None:
    redis.zadd("z", {"one": 1, "two": 2})

    def ask(pipe: Any, *, scores: bool) -> None:
        pipe.zrange("z", 0, -1, withscores=scores)

    with known(fetched(Asked.of([NAME], lambda pipe: ask(pipe, scores=True)))):
        for scores in (True, False, True):
            found = read([NAME], lambda pipe, scores=scores: ask(pipe, scores=scores))  # type: ignore[misc]
            assert found
            names = [name[0] if scores else name for name in found.replies[0]]
            assert names == [b"one", b"two"]
            found.replies[0].clear()  # who asked may do with it what they like


def test_of_the_same_asked_twice_at_once_each_has_its_own_reply(redis: Redis) -> None:
    twice = Asked.of([NAME], lambda pipe: pipe.incr("n").get("n").incr("n").get("n"))
    with known(fetched(twice)):
        found = read([NAME], lambda pipe: pipe.get("n").get("n").get("n"))
    assert found
    assert found.replies == [b"1", b"2", b"2"]


def test_what_writes_is_no_guess() -> None:
    assert asked("a").is_harmless()
    assert not Asked.of([NAME], lambda pipe: pipe.get("n").incr("n")).is_harmless()
    assert not Asked.of([NAME], lambda pipe: pipe.mget(["n"] * 1000)).is_harmless()


def test_a_guess_whose_mirror_is_not_whole_is_not_known(redis: Redis) -> None:
    redis.delete(naming.marker("tgroup"))
    ahead = fetched(asked("b", mirror="tgroup"), asked("b"))
    assert [said and said.replies for said in ahead.said] == [[A], None, [B]]
    with known(ahead):
        assert get("b", mirror="tgroup") is None
        assert get("b") == [B]


def test_without_what_is_needed_sql_has_to_answer(redis: Redis) -> None:
    redis.delete(naming.marker(NAME))
    assert fetch(asked("a")) is None


def test_a_marker_of_another_life_of_the_server_is_none(redis: Any) -> None:
    redis.set(naming.marker(NAME), redis.get(naming.marker(NAME)).replace(b"|", b"|x", 1))
    assert fetch(asked("a")) is None


def test_who_is_to_be_answered_by_sql_is() -> None:
    ahead = fetched()
    with sql_only(), known(ahead):
        assert fetch(asked("a")) is None
        assert get("a") is None


def test_without_redis_nothing_is_known_and_nothing_fails(redis_server: RedisServer) -> None:
    redis_server.kill()
    assert fetch(asked("a")) is None
    assert breaker.open()


def test_what_is_known_needs_no_redis(redis_server: RedisServer) -> None:
    rebuild.rebuild([NAME])
    ahead = fetched()
    redis_server.kill()
    breaker.failed()
    with known(ahead):
        assert get("a") == [A]
        assert get("b") is None


def test_further_commands_go_along() -> None:
    with record() as seen:
        found = fetch(asked("a"), [asked("b")], lambda pipe: pipe.ping().exists("nothing"))
    assert found
    assert (found.beside, seen.round_trips) == ([True, 0], 1)


def test_what_is_known_ends_with_the_block() -> None:
    with known(fetched()):
        pass
    with record() as seen:
        get("a")
    assert seen.round_trips == 1


def test_a_fork_knows_the_same_and_is_asked_by_itself() -> None:
    ahead = fetched()
    fork = ahead.fork()
    with known(fork):
        assert get("a") == [A]
    assert (len(fork.asked), ahead.asked) == (1, [])
