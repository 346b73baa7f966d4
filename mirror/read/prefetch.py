"""Prefetching: the expected reads of a request in one round trip.

A caller that knows the reads of a request, or has recorded those of the previous one, fetches them together.
``read`` then takes its answer from the fetched replies if they cover it exactly, and is sent as usual otherwise.

>>> ahead = fetch(Asked.of(["book"], lambda pipe: pipe.get(keys.book(7))), guesses)
>>> with known(ahead):
...     get_book(7)  # no round trip
>>> ahead.asked  # the reads of the block: the guesses for the next time
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mirror.outbox.identity import database_identity
from mirror.read import doubt
from mirror.redis import naming, quick
from mirror.redis.clients import client, try_redis
from mirror.redis.types import RedisClient, RedisPipeline
from mirror.relay import send, sql_only
from mirror.utils.counters import count_fallback
from mirror.warm import marker, rewind

# Commands that may be sent although their replies may not be needed.
HARMLESS: Final = {
    *("GET", "MGET", "STRLEN", "EXISTS", "TTL", "HGET", "HMGET", "HGETALL", "HLEN", "SISMEMBER", "SMISMEMBER", "SCARD"),
    *("ZSCORE", "ZMSCORE", "ZRANK", "ZREVRANK", "ZCARD", "ZCOUNT"),
    *("ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZRANGEBYLEX", "ZREVRANGEBYLEX"),
    *("LRANGE", "XRANGE"),
}
NOT_READ: Final = doubt.Group((), (), ())
LONGEST: Final = 200  # arguments of a command that is kept as a guess

Staged = tuple[tuple[Any, ...], dict[str, Any]]  # a command in the form of redis-py's pipelines


def staged(commands: Iterable[Staged]) -> tuple[Staged, ...]:
    """Return a pipeline's commands for later use, without the option that sending them removes."""
    return tuple(
        (args, {name: value for name, value in options.items() if name != "keys"}) for args, options in commands
    )


class Asked(NamedTuple):
    """One ``read``: the mirrors that must be warm, and the commands."""

    mirrors: tuple[str, ...]
    commands: tuple[Staged, ...]

    @classmethod
    def of(cls, mirrors: Iterable[str], ask: Callable[[RedisPipeline], object]) -> "Asked":
        """Return the read that ``read(mirrors, ask)`` would send."""
        pipe = client().pipeline(transaction=False)
        ask(pipe)
        return cls(tuple(mirrors), staged(pipe.command_stack))

    @property
    def key(self) -> Any:
        """Return a value that is equal for equal reads."""
        return self.mirrors, tuple(args for args, _ in self.commands)

    def is_harmless(self) -> bool:
        """Return whether the read may be sent as a guess."""
        return all(args[0] in HARMLESS and len(args) <= LONGEST for args, _ in self.commands)


NOTHING: Final = Asked((), ())


def select_guesses(asked: Iterable[Asked]) -> tuple[Asked, ...]:
    """Return the reads that may be sent as guesses, in their order, without duplicates."""
    return tuple({one.key: one for one in asked if one.is_harmless()}.values())


class Reading(NamedTuple):
    """replies: one for each command, in order. generations: the generation of each mirror."""

    replies: list[Any]
    generations: tuple[str, ...]


@dataclass
class Prefetched:
    """Fetched replies.

    readings: for each requested read, None where a mirror was cold. beside: replies to further commands. asked: the
    reads of the block. missed: number of reads that were not covered. writes: the number of the request's statements
    that wrote before.
    """

    readings: list[Reading | None]
    beside: list[Any]
    asked: list[Asked] = field(default_factory=list)
    missed: int = 0
    writes: int = 0
    _known: dict[tuple[Any, ...], list[tuple[dict[str, Any], Any]]] = field(default_factory=dict, repr=False)
    _generations: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def needed(self) -> Reading:
        """Return the replies to the required read."""
        reading = self.readings[0]
        assert reading is not None
        return reading

    def fork(self) -> "Prefetched":
        """Return a copy with the same replies, which records its own reads."""
        return Prefetched(
            self.readings, self.beside, writes=self.writes, _known=self._known, _generations=self._generations
        )

    def learn(self, asked: Asked, reading: Reading) -> None:
        """Store the replies to a read."""
        self._generations.update(zip(asked.mirrors, reading.generations, strict=True))
        found: dict[tuple[Any, ...], list[tuple[dict[str, Any], Any]]] = {}
        for (args, options), reply in zip(asked.commands, reading.replies, strict=True):
            found.setdefault(args, []).append((options, reply))
        self._known.update(found)

    def answer(self, mirrors: Sequence[str], commands: Iterable[Staged]) -> Reading | None:
        """Return the replies to a read, or None if they do not cover it."""
        asked = Asked(tuple(mirrors), staged(commands))
        self.asked.append(asked)
        generations = [self._generations[name] for name in mirrors if name in self._generations]
        replies = list(self._replies(asked.commands))
        if len(generations) < len(asked.mirrors) or len(replies) < len(asked.commands):
            self.missed += 1
            return None
        return Reading(replies, tuple(generations))

    def _replies(self, commands: Iterable[Staged]) -> Iterator[Any]:
        """Yield the known replies. For a command that occurs twice, the first one gets the earlier reply."""
        times: Counter[Any] = Counter()
        for args, options in commands:
            found = self._known.get(args, ())[times[args] :][:1] or self._known.get(args, ())[-1:]
            times[args] += 1
            for known_options, reply in found:
                if known_options == options:
                    yield (reply.copy() if isinstance(reply, list) else reply)  # callers may modify the lists


_present: ContextVar[Prefetched | None] = ContextVar("prefetched", default=None)


@contextmanager
def known(ahead: Prefetched) -> Generator[None, None, None]:
    """Answer the reads in the block from ``ahead`` where it covers them."""
    token = _present.set(ahead)
    try:
        yield
    finally:
        _present.reset(token)


def present() -> Prefetched | None:
    """Return the fetched replies of this context."""
    return _present.get()


def look_up(asked: Asked) -> Reading | None:
    """Return the fetched replies to a read, or None if there are none or they are older than a write of the request."""
    foreseen = present()
    if foreseen is None or sql_only.wanted(asked.mirrors) or sql_only.wrote_since(foreseen.writes, asked.mirrors):
        return None
    return foreseen.answer(asked.mirrors, asked.commands)


def fetch(
    needed: Asked, guesses: Sequence[Asked] = (), beside: Callable[[RedisPipeline], object] = lambda pipe: None
) -> Prefetched | None:
    """Fetch all reads in one round trip. Return None if SQL has to answer the required one (as for ``read``).

    A guess with a cold mirror is left out. beside: adds further commands to the pipeline.
    """
    groups = (needed, *guesses)
    writes, is_own = sql_only.count_writes(), sql_only.wanted(needed.mirrors)
    fetched = None if is_own else try_redis(lambda redis: _send(redis, groups, beside), lambda: None)
    if fetched is None:
        count_fallback(needed.mirrors, "own_write" if is_own else "unavailable")
        return None
    evidence, found, others = fetched
    if None in found:
        send.sweep_soon()
    readings = _leave_to_sql(evidence, groups, found)
    if readings[0] is None:
        count_fallback(needed.mirrors, "cold" if found[0] is None else "doubt")
        return None
    ahead = Prefetched(readings, others, writes=writes)
    for group, reading in zip(groups, readings, strict=True):
        if reading is not None:
            ahead.learn(group, reading)
    return ahead


def _send(
    redis: RedisClient, groups: Sequence[Asked], beside: Callable[[RedisPipeline], object]
) -> tuple[doubt.Evidence, list[Reading | None], list[Any]]:
    """Return the evidence, the replies of each group, and the replies to the further commands."""
    pipe = redis.pipeline(transaction=False)
    for group in groups:
        pipe.command_stack.extend((args, options.copy()) for args, options in group.commands)
    beside(pipe)
    names = list(dict.fromkeys(name for group in groups for name in group.mirrors))
    markers = ("MGET", *map(naming.marker, names), *doubt.keys())
    (before,), replies, (after,) = quick.execute(pipe, around=[markers])
    evidence = doubt.Evidence.of(before[len(names) :], redis)
    before, after = before[: len(names)], after[: len(names)]
    # A marker that has changed meanwhile does not count.
    found = {name: one if one == other else None for name, one, other in zip(names, before, after, strict=True)}
    if any(found.values()) and rewind.check_once(redis, database_identity()):
        found = dict.fromkeys(names)
    readings, start = list[Reading | None](), 0
    whole = dict(zip(names, marker.generations(redis, names, list(found.values())) or (), strict=False))
    for group in groups:
        end = start + len(group.commands)
        readings.append(_read_group(redis, group, found, whole, replies[start:end]))
        start = end
    return evidence, readings, replies[start:]


def _leave_to_sql(
    evidence: doubt.Evidence, groups: Sequence[Asked], readings: Sequence[Reading | None]
) -> list[Reading | None]:
    """Remove the replies that SQL has to answer."""
    read = [doubt.Group(*group, r.replies) if r else NOT_READ for group, r in zip(groups, readings, strict=True)]
    return [
        None if by_sql else reading for reading, by_sql in zip(readings, evidence.groups_for_sql(read), strict=True)
    ]


def _read_group(
    redis: RedisClient, group: Asked, found: dict[str, bytes | None], whole: dict[str, str], replies: list[Any]
) -> Reading | None:
    """Return the replies of one group. whole: the generations, if all mirrors of all groups are warm."""
    if whole:
        return Reading(replies, tuple(whole[name] for name in group.mirrors))
    generations = marker.generations(redis, group.mirrors, [found[name] for name in group.mirrors])
    return None if generations is None else Reading(replies, generations)
