"""Prefetching: the expected reads of a request in one round trip.

A caller that knows the reads of a request, or has recorded those of the previous one, fetches them together.
``read`` then takes its answer from the fetched replies if they cover it exactly, and is sent as usual otherwise.

>>> ahead = fetch(Asked.of(["book"], lambda pipe: pipe.get(keys.book(7))), guesses)
>>> with known(ahead):
...     get_book(7)  # no round trip
>>> guesses = ahead.asked if ahead else ()  # the reads of the block, for the next time
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mirror.outbox.identity import database_identity
from mirror.read import doubt
from mirror.redis import naming, quick, recorder
from mirror.redis.clients import client, try_redis
from mirror.redis.types import RedisClient, RedisPipeline
from mirror.relay import send, sql_only
from mirror.utils.counters import count_fallback
from mirror.warm import marker, rewind

# Commands that may be sent although their replies may not be needed.
HARMLESS: Final = (
    {"EXISTS", "TTL", "GET", "MGET", "STRLEN", "LRANGE", "XRANGE"}
    | {"HGET", "HMGET", "HGETALL", "HLEN", "SISMEMBER", "SMISMEMBER", "SCARD", "SRANDMEMBER"}
    | {"ZSCORE", "ZMSCORE", "ZRANK", "ZREVRANK", "ZCARD", "ZCOUNT"}
    | {"ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZRANGEBYLEX", "ZREVRANGEBYLEX"}
)
NOT_READ: Final = doubt.Group((), (), ())
LONGEST: Final = 200  # arguments of a command that is kept as a guess

Staged = tuple[tuple[Any, ...], dict[str, Any]]  # a command in the form of redis-py's pipelines


def staged(commands: Iterable[Staged]) -> tuple[Staged, ...]:
    """Return a pipeline's commands for later use, without the option that sending them removes."""
    kept: list[Staged] = []
    for args, options in commands:
        options = options.copy()
        options.pop("keys", None)
        kept.append((args, options))
    return tuple(kept)


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
    by_key: dict[Any, Asked] = {}
    for one in asked:
        if one.is_harmless():
            by_key[one.key] = one
    return tuple(by_key.values())


class Reading(NamedTuple):
    """replies: one for each command, in order. generations: the generation of each mirror."""

    replies: list[Any]
    generations: tuple[str, ...]


@dataclass
class Prefetched:
    """Fetched replies.

    readings: for each requested read, None where a mirror was cold. beside: replies to further commands. asked: the
    reads of the block. missed: number of reads that were not covered. writes: the number of the request's statements
    that wrote before. riders: reads that are sent with the next one of the block (``send_along``).
    """

    readings: list[Reading | None]
    beside: list[Any]
    asked: list[Asked] = field(default_factory=list)
    missed: int = 0
    writes: int = 0
    riders: list[Asked] = field(default_factory=list)
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

    def covers(self, asked: Asked) -> bool:
        """Return whether the replies to a read are known."""
        return all(args in self._known for args, _ in asked.commands)

    def take_riders(self) -> list[Asked]:
        """Return the reads to send with the next one, and forget them."""
        taken, self.riders = self.riders, []
        return taken

    def answer(self, asked: Asked) -> Reading | None:
        """Return the replies to a read, or None if they do not cover it."""
        self.asked.append(asked)
        generations = [self._generations[name] for name in asked.mirrors if name in self._generations]
        replies = list(self._find_replies(asked.commands))
        is_complete = len(generations) == len(asked.mirrors) and len(replies) == len(asked.commands)
        if not is_complete:
            self.missed += 1
            return None
        return Reading(replies, tuple(generations))

    def _find_replies(self, commands: Iterable[Staged]) -> Iterator[Any]:
        """Yield the known replies. For a command that occurs twice, the first one gets the earlier reply."""
        times: dict[Any, int] = {}
        for args, options in commands:
            of_command = self._known.get(args)
            if not of_command:
                continue
            earlier = times.get(args, 0)
            times[args] = earlier + 1
            number = min(earlier, len(of_command) - 1)
            known_options, reply = of_command[number]
            if known_options == options:
                # Callers may modify the lists.
                yield reply.copy() if isinstance(reply, list) else reply


_present: ContextVar[Prefetched | None] = ContextVar("prefetched", default=None)


@contextmanager
def known(ahead: Prefetched | None) -> Generator[None, None, None]:
    """Answer the reads in the block from ``ahead`` where it covers them. None, as of ``fetch``: from nothing."""
    token = _present.set(ahead)
    try:
        yield
    finally:
        _present.reset(token)


def present() -> Prefetched | None:
    """Return the fetched replies of this context."""
    return _present.get()


def send_along(asked: Iterable[Asked]) -> None:
    """Send these reads, which the block of ``known`` will make, with its next one that is sent.

    Nothing happens outside of a block, and for reads with known replies.
    """
    foreseen = present()
    if foreseen is not None:
        foreseen.riders += [one for one in asked if not foreseen.covers(one)]


def look_up(asked: Asked) -> Reading | None:
    """Return the fetched replies to a read, or None if there are none or they are older than a write of the request."""
    foreseen = present()
    if foreseen is None:
        return None
    if sql_only.wanted(asked.mirrors) or sql_only.wrote_since(foreseen.writes, asked.mirrors):
        return None
    return foreseen.answer(asked)


def fetch(
    needed: Asked, guesses: Sequence[Asked] = (), beside: Callable[[RedisPipeline], object] = lambda pipe: None
) -> Prefetched | None:
    """Fetch all reads in one round trip. Return None if SQL has to answer the required one (as for ``read``).

    A guess with a cold mirror is left out. beside: adds further commands to the pipeline. Reads of ``send_along`` that
    wait in an enclosing block are sent as well, and their replies are kept there.
    """
    if sql_only.wanted(needed.mirrors):
        count_fallback(needed.mirrors, "own_write")
        return None
    enclosing = present()
    riders = enclosing.take_riders() if enclosing else []
    groups = (needed, *guesses, *riders)
    # Counted before the read: its replies may lack what is written from here on.
    writes = sql_only.count_writes()
    fetched = try_redis(lambda redis: _send_groups(redis, groups, beside), lambda: None)
    if fetched is None:
        count_fallback(needed.mirrors, "unavailable")
        return None
    evidence, found, others = fetched
    if None in found:
        # The sweep replays Redis, or requests rebuilds.
        send.sweep_soon()
    readings = _leave_to_sql(evidence, groups, found)
    if readings[0] is None:
        count_fallback(needed.mirrors, "cold" if found[0] is None else "doubt")
        return None
    first_rider = len(groups) - len(riders)
    ahead = Prefetched(readings[:first_rider], others, writes=writes)
    for number, (group, reading) in enumerate(zip(groups, readings, strict=True)):
        target = ahead if number < first_rider else enclosing
        if reading is not None and target is not None:
            target.learn(group, reading)
        recorder.read_from(group.mirrors, reading and reading.generations)
    return ahead


def _send_groups(
    redis: RedisClient, groups: Sequence[Asked], beside: Callable[[RedisPipeline], object]
) -> tuple[doubt.Evidence, list[Reading | None], list[Any]]:
    """Return the evidence, the replies of each group, and the replies to the further commands."""
    pipe = redis.pipeline(transaction=False)
    mirrors: dict[str, None] = {}  # ordered, without duplicates
    for group in groups:
        pipe.command_stack.extend((args, options.copy()) for args, options in group.commands)
        mirrors.update(dict.fromkeys(group.mirrors))
    beside(pipe)
    names = list(mirrors)
    # Markers before and after: a pipeline is no transaction, and a mirror may be lost in between.
    markers = ("MGET", *map(naming.marker, names), *doubt.keys())
    (before,), replies, (after,) = quick.execute(pipe, around=[markers])
    evidence = doubt.Evidence.of(before[len(names) :], redis)
    found = _find_lasting(names, before, after)
    if any(found.values()) and rewind.check_once(redis, database_identity()):
        found = dict.fromkeys(names)
    # Usually all are warm, and the generations are computed once for all groups.
    all_generations = marker.generations(redis, names, list(found.values()))
    whole = {} if all_generations is None else dict(zip(names, all_generations, strict=True))
    readings: list[Reading | None] = []
    start = 0
    for group in groups:
        end = start + len(group.commands)
        readings.append(_read_group(redis, group, found, whole, replies[start:end]))
        start = end
    return evidence, readings, replies[start:]


def _find_lasting(
    names: Sequence[str], before: Sequence[bytes | None], after: Sequence[bytes | None]
) -> dict[str, bytes | None]:
    """Return the markers of these mirrors that were the same before and after the commands, otherwise None."""
    lasting: dict[str, bytes | None] = {}
    # Further replies follow those of the markers.
    for name, earlier, later in zip(names, before, after, strict=False):
        lasting[name] = earlier if earlier == later else None
    return lasting


def _leave_to_sql(
    evidence: doubt.Evidence, groups: Sequence[Asked], readings: Sequence[Reading | None]
) -> list[Reading | None]:
    """Remove the replies that SQL has to answer."""
    read: list[doubt.Group] = []
    for group, reading in zip(groups, readings, strict=True):
        if reading is None:
            read.append(NOT_READ)
        else:
            read.append(doubt.Group(group.mirrors, group.commands, reading.replies))
    left: list[Reading | None] = []
    for reading, is_by_sql in zip(readings, evidence.groups_for_sql(read), strict=True):
        left.append(None if is_by_sql else reading)
    return left


def _read_group(
    redis: RedisClient, group: Asked, found: dict[str, bytes | None], whole: dict[str, str], replies: list[Any]
) -> Reading | None:
    """Return the replies of one group. whole: the generations, if all mirrors of all groups are warm."""
    if whole:
        return Reading(replies, tuple(whole[name] for name in group.mirrors))
    generations = marker.generations(redis, group.mirrors, [found[name] for name in group.mirrors])
    return None if generations is None else Reading(replies, generations)
