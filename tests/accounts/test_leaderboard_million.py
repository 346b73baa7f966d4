"""A leaderboard of a million users: a page needs two round trips, and O(log n) work of the server."""

import random
from collections.abc import Iterator
from math import log2
from typing import Any, cast

import pytest
from redis import Redis

from accounts import keys
from accounts.leaderboard.page import PAGE_SIZE, Cursor, Leaderboard, Place
from accounts.selectors import read_leaderboard
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.redis.session import Session
from tests.support.accounts.people import warm_users

MILLION, CHUNK = 1_000_000, 50_000
Board = list[tuple[int, str]]

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def board(redis: Redis) -> Iterator[Board]:
    """Yield (count, id) of a million users, best first; half of them have logged in once. The warm marker is set, and
    SQL is empty, so that an answer from SQL would be noticed.
    """
    warm_users()
    chance = random.Random(8)
    people = [(int(1 / (1 - chance.random())), str(pk)) for pk in range(1, MILLION + 1)]
    with Session(relay_client()) as session:  # takes a quarter of the time of redis-py
        for start in range(0, MILLION, CHUNK):
            pairs = people[start : start + CHUNK]
            session.ask([("ZADD", keys.shown_login_times(), *(part for pair in pairs for part in pair))])
    redis.zadd(keys.shown_last_logins(), {str(pk): -pk for pk in range(1, 101)})
    _write_records(redis, map(str, range(1, 101)))
    people.sort(reverse=True)
    yield people
    redis.flushdb()


def _write_records(redis: Redis, pks: Any) -> None:
    """Write the records of the users that pages show; the others are not needed."""
    pipe = redis.pipeline(transaction=False)
    for pk in pks:
        record = {"name": f"reader {pk}", "is_active": "1", "shows_logins": "1", "login_times": "1"}
        record |= {"last_login_time": "", "avatar": ""}
        pipe.hset(keys.login(pk), mapping=cast("Any", record))
    pipe.execute()


def _work(redis: Redis) -> dict[str, int]:
    """Return the number of calls of each command since the last reset, including calls by scripts."""
    return {name: said["calls"] for name, said in redis.info("commandstats").items()}


def test_every_page_of_a_million_needs_two_round_trips_and_few_commands(redis: Redis, board: Board) -> None:
    def look(number: int, cursor: Cursor | None) -> Leaderboard:
        """Return the page around a place, with the user at this place as the viewer."""
        times, pk = board[number]
        near = board[max(0, number - 2 * PAGE_SIZE) : number + 2 * PAGE_SIZE]
        _write_records(redis, [other for _, other in near])
        at = "me" if cursor is None else cursor._replace(place=Place(times, int(pk))).text()
        redis.config_resetstat()
        with record() as seen:
            page = read_leaderboard(int(pk), at)
        assert (seen.round_trips, seen.sql) == (2, [])
        calls = _work(redis)
        ranking = sum(calls.get(f"cmdstat_{name}", 0) for name in ("zrevrange", "zcount", "zrevrank", "zcard"))
        assert ranking <= 12 + log2(MILLION)
        assert calls.get("cmdstat_hmget", 0) <= PAGE_SIZE + 5 + 10
        return page

    for number in (0, 1, 10, 999, 250_000, 499_990, 500_500, 750_000, MILLION - 1):
        times = board[number][0]
        mine = look(number, None)
        assert (mine.count, mine.me and mine.me.login_times) == (MILLION, times)
        assert mine.me
        assert mine.me.rank == 1 + sum(other > times for other, _ in board)
        start = max(0, number - PAGE_SIZE // 2)
        assert [str(p.id) for p in mine.most] == [other for _, other in board[start : start + PAGE_SIZE]]
        if number < MILLION - 1:
            after = look(number, Cursor("after"))
            assert [str(p.id) for p in after.most] == [other for _, other in board[number + 1 : number + 1 + PAGE_SIZE]]
        if number >= PAGE_SIZE:
            before = look(number, Cursor("before"))
            assert [str(p.id) for p in before.most] == [other for _, other in board[number - PAGE_SIZE : number]]
