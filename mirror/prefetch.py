"""Prefetching: reads that are going to come, all in one round trip.

Who knows (or has seen the last time) what a request is going to ask has it fetched together; ``read`` is then answered
from what was said, as often as it asks for exactly that. What was not foreseen is asked as always.

>>> ahead = fetch(Asked.of(["book"], lambda pipe: pipe.get(keys.book(7))), guesses)
>>> with known(ahead):
...     get_book(7)  # no round trip
>>> ahead.asked  # what was asked in the block: the guesses for the next time
"""

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mirror import doubt, marker, naming, quick, send, sql_only
from mirror.redis import RedisError, breaker, client, is_away

logger = logging.getLogger("mirror")

# What may be asked of Redis though nobody might want to know.
HARMLESS: Final = {
    *("GET", "MGET", "STRLEN", "EXISTS", "TTL", "HGET", "HMGET", "HGETALL", "HLEN", "SISMEMBER", "SMISMEMBER", "SCARD"),
    *("ZSCORE", "ZMSCORE", "ZRANK", "ZREVRANK", "ZCARD", "ZCOUNT"),
    *("ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE"),
    *("LRANGE", "XRANGE"),
}
NOT_READ: Final = doubt.Group((), (), ())
LONGEST: Final = 200  # arguments of a command that is remembered as a guess

Staged = tuple[tuple[Any, ...], dict[str, Any]]  # a command as redis-py's pipelines keep it


def staged(commands: Iterable[Staged]) -> tuple[Staged, ...]:
    """The commands of a pipeline, for keeping: without the option that sending them takes away."""
    return tuple(
        (args, {name: value for name, value in options.items() if name != "keys"}) for args, options in commands
    )


class Asked(NamedTuple):
    """One ``read``: the mirrors that have to be whole, and the commands."""

    mirrors: tuple[str, ...]
    commands: tuple[Staged, ...]

    @classmethod
    def of(cls, mirrors: Iterable[str], ask: Callable[[Any], object]) -> "Asked":
        """What ``read(mirrors, ask)`` asks."""
        pipe = client().pipeline(transaction=False)
        ask(pipe)
        return cls(tuple(mirrors), staged(pipe.command_stack))

    @property
    def key(self) -> Any:
        """The same for what asks the same."""
        return self.mirrors, tuple(args for args, _ in self.commands)

    def is_harmless(self) -> bool:
        """Whether it can be asked as a guess."""
        return all(args[0] in HARMLESS and len(args) <= LONGEST for args, _ in self.commands)


class Said(NamedTuple):
    """What was said to one ``Asked``. generations: as in a ``Reading``."""

    replies: list[Any]
    generations: tuple[str, ...]


@dataclass
class Prefetched:
    """What Redis said ahead. said: one for each that was asked for, None where a mirror was not whole. beside: the
    replies to further commands. asked: what was asked of it. missed: how often it did not know.
    """

    said: list[Said | None]
    beside: list[Any]
    asked: list[Asked] = field(default_factory=list)
    missed: int = 0
    _known: dict[tuple[Any, ...], list[tuple[dict[str, Any], Any]]] = field(default_factory=dict, repr=False)
    _generations: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def needed(self) -> Said:
        """What was said to what was needed."""
        said = self.said[0]
        assert said is not None
        return said

    def fork(self) -> "Prefetched":
        """One that knows the same, and notes by itself what it is asked."""
        return Prefetched(self.said, self.beside, _known=self._known, _generations=self._generations)

    def learn(self, asked: Asked, said: Said) -> None:
        """Know the answer from now on."""
        self._generations.update(zip(asked.mirrors, said.generations, strict=True))
        found: dict[tuple[Any, ...], list[tuple[dict[str, Any], Any]]] = {}
        for (args, options), reply in zip(asked.commands, said.replies, strict=True):
            found.setdefault(args, []).append((options, reply))
        self._known.update(found)

    def answer(self, mirrors: Sequence[str], commands: Iterable[Staged]) -> Said | None:
        """What it knows of a read; None: not all of it."""
        asked = Asked(tuple(mirrors), staged(commands))
        self.asked.append(asked)
        generations = [self._generations[name] for name in mirrors if name in self._generations]
        replies = list(self._replies(asked.commands))
        if len(generations) < len(asked.mirrors) or len(replies) < len(asked.commands):
            self.missed += 1
            return None
        return Said(replies, tuple(generations))

    def _replies(self, commands: Iterable[Staged]) -> Iterator[Any]:
        """Those that are known. Of who asks the same twice in one breath the first gets the earlier reply."""
        times: Counter[Any] = Counter()
        for args, options in commands:
            found = self._known.get(args, ())[times[args] :][:1] or self._known.get(args, ())[-1:]
            times[args] += 1
            for known_options, reply in found:
                if known_options == options:
                    yield (
                        reply.copy() if isinstance(reply, list) else reply
                    )  # who asked may do with a list what they like


_present: ContextVar[Prefetched | None] = ContextVar("prefetched", default=None)


@contextmanager
def known(ahead: Prefetched) -> Generator[None, None, None]:
    """Reads in the block are answered from ``ahead`` where it knows."""
    token = _present.set(ahead)
    try:
        yield
    finally:
        _present.reset(token)


def present() -> Prefetched | None:
    """What is known here."""
    return _present.get()


def fetch(
    needed: Asked, guesses: Sequence[Asked] = (), beside: Callable[[Any], object] = lambda pipe: None
) -> Prefetched | None:
    """Ask all of it in one round trip; None: SQL has to answer what is needed (as ``read``'s None).

    A guess whose mirror is not whole is not known. beside: adds further commands to the pipeline.
    """
    if sql_only.wanted() or breaker.open():
        return None
    redis, groups = client(), (needed, *guesses)
    pipe = redis.pipeline(transaction=False)
    for group in groups:
        pipe.command_stack.extend((args, options.copy()) for args, options in group.commands)
    beside(pipe)
    names = list(dict.fromkeys(name for group in groups for name in group.mirrors))
    markers = ("MGET", *map(naming.marker, names), *doubt.keys())
    try:
        (before,), replies, (after,) = quick.execute(pipe, around=[markers])
        evidence = doubt.Evidence.of(before[len(names) :], redis)
        before, after = before[: len(names)], after[: len(names)]
        # A marker that changed meanwhile counts as none.
        found = {name: one if one == other else None for name, one, other in zip(names, before, after, strict=True)}
        said, start = list[Said | None](), 0
        whole = dict(zip(names, marker.generations(redis, names, list(found.values())) or (), strict=False))
        for group in groups:
            end = start + len(group.commands)
            said.append(_said(redis, group, found, whole, replies[start:end]))
            start = end
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("Redis did not answer, SQL does: %s", error)
        return None
    if None in said:
        send.sweep_soon()
    said = _believed(evidence, groups, said)
    if said[0] is None:
        return None
    ahead = Prefetched(said, replies[start:])
    for group, answer in zip(groups, said, strict=True):
        if answer is not None:
            ahead.learn(group, answer)
    return ahead


def _believed(evidence: doubt.Evidence, groups: Sequence[Asked], said: Sequence[Said | None]) -> list[Said | None]:
    """Leave out what SQL has to answer."""
    read = [doubt.Group(*group, s.replies) if s else NOT_READ for group, s in zip(groups, said, strict=True)]
    return [None if by_sql else s for s, by_sql in zip(said, evidence.groups_for_sql(read), strict=True)]


def _said(
    redis: Any, group: Asked, found: dict[str, bytes | None], whole: dict[str, str], replies: list[Any]
) -> Said | None:
    """One group's part. whole: the generations, if all mirrors of all groups are whole."""
    if whole:
        return Said(replies, tuple(whole[name] for name in group.mirrors))
    generations = marker.generations(redis, group.mirrors, [found[name] for name in group.mirrors])
    return None if generations is None else Said(replies, generations)
