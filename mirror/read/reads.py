"""Reads of mirrored data, which are answered only from warm mirrors. Otherwise the caller asks SQL.

>>> found = read(["book"], lambda pipe: pipe.get(keys.book(7)))
>>> if found is None: ...   # cold, or Redis is away: SQL answers
"""

from collections.abc import Callable, Sequence
from typing import Any

from mirror.read import doubt, prefetch
from mirror.read.prefetch import Asked, Reading
from mirror.redis import naming, quick, recorder
from mirror.redis.clients import client, try_redis
from mirror.redis.types import RedisClient, RedisPipeline
from mirror.relay import send, sql_only
from mirror.utils.counters import Reason, count_fallback
from mirror.warm import marker


def read(mirrors: Sequence[str], ask: Callable[[RedisPipeline], object]) -> Reading | None:
    """Read from Redis in one round trip, with the warm markers of ``mirrors``. Return None if SQL has to answer.

    ``ask`` gets a pipeline and adds its commands. None means that a mirror is cold, that Redis is away or lacks a
    change of these rows (``mirror.read.doubt``), or that this request must see a write that Redis does not have yet.
    Never raises errors of Redis: the wrong use of a command (WRONGTYPE) is logged, and SQL answers as well.
    """
    if sql_only.wanted(mirrors):
        return _fall_back(mirrors, "own_write")
    pipe = client().pipeline(transaction=False)
    ask(pipe)
    foreseen = prefetch.present()
    if foreseen is not None:
        asked = Asked(tuple(mirrors), prefetch.staged(pipe.command_stack))
        # Replies that were fetched before a write of this request are older than the write.
        is_older = sql_only.wrote_since(foreseen.writes, mirrors)
        if not is_older and (known := foreseen.answer(asked)):
            recorder.read_from(mirrors, known.generations)
            return known
        if foreseen.riders:
            ahead = prefetch.fetch(asked)
            return None if ahead is None else ahead.needed

    def send_commands(redis: RedisClient) -> tuple[list[Any], tuple[str, ...] | None, doubt.Evidence] | None:
        # Markers before and after: a pipeline is no transaction, and the mirror may be lost in between.
        markers, count = ("MGET", *map(naming.marker, mirrors), *doubt.keys()), len(mirrors)
        (before,), replies, (after,) = quick.execute(pipe, around=[markers])
        if before[:count] != after[:count]:
            return None
        generations = marker.generations(redis, mirrors, before[:count])
        return replies, generations, doubt.Evidence.of(before[count:], redis)

    sent = try_redis(send_commands, lambda: None)
    if sent is None:
        return _fall_back(mirrors, "unavailable")
    replies, generations, evidence = sent
    if generations is None:
        # The sweep replays Redis, or requests rebuilds.
        send.sweep_soon()
        return _fall_back(mirrors, "cold")
    if any(evidence.groups_for_sql([doubt.Group(mirrors, pipe.command_stack, replies)])):
        return _fall_back(mirrors, "doubt")
    recorder.read_from(mirrors, generations)
    return Reading(replies, generations)


def add_marker(pipe: RedisPipeline, mirror: str) -> None:
    """Add the command whose reply ``is_current`` examines."""
    pipe.get(naming.marker(mirror))


def is_current(mirror: str, found: bytes | None) -> bool:
    """Return whether a pipeline's replies may be used: ``found`` is its reply for the marker of ``mirror``.

    For commands that are sent with other reads, whose mirrors alone are checked.
    """
    return not sql_only.wanted([mirror]) and marker.generations(client(), [mirror], [found]) is not None


def _fall_back(mirrors: Sequence[str], reason: Reason) -> Reading | None:
    count_fallback(mirrors, reason)
    recorder.read_from(mirrors, None)
    return None
