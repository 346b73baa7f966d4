"""Record the commands to Redis and the SQL statements of a block of code.

>>> with record() as seen:
...     ...
>>> seen.round_trips, seen.commands, len(seen.sql)
"""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.db import connections

from mirror.redis.keys.positions import UnknownCommand, key_positions
from mirror.redis.keys.slots import DIVIDED, find_slot


@dataclass(frozen=True)
class Command:
    """A Redis command and the number of its round trip (from 1)."""

    name: str
    args: tuple[Any, ...]
    trip: int

    def __str__(self) -> str:
        return " ".join([self.name, *map(_to_text, self.args)])

    def named(self) -> list[str]:
        """Return the command's keys. An unknown command is assumed to have one key, its first argument."""
        command: tuple[Any, ...] = (self.name, *self.args)
        try:
            positions = key_positions(command)
        except UnknownCommand:
            positions = range(1, min(2, len(command)))
        return [_to_text(command[position]) for position in positions]


def _to_text(argument: Any) -> str:
    return argument.decode(errors="replace") if isinstance(argument, bytes) else str(argument)


@dataclass
class Recording:
    """The recorded ``commands`` in order, ``round_trips``, ``sql`` (text, seconds) and seconds spent in time-outs.

    replies: commands of pipelines, each with its reply as Redis sent it. generations: of the mirrors that ``read`` has
    read, by name. fallbacks: the number of reads that were left to SQL. checks: the number of statements in ``sql``
    that only asked whether Redis is right.
    """

    round_trips: int = 0
    commands: list[Command] = field(default_factory=list)
    sql: list[tuple[str, float]] = field(default_factory=list)
    timeout_seconds: float = 0.0
    replies: list[tuple[tuple[Any, ...], Any]] = field(default_factory=list)
    generations: dict[str, str] = field(default_factory=dict)
    fallbacks: int = 0
    checks: int = 0

    def keys(self) -> list[str]:
        """Return the keys of all commands in order, without duplicates."""
        distinct: dict[str, None] = {}
        for command in self.commands:
            distinct.update(dict.fromkeys(command.named()))
        return list(distinct)

    def find_cross_slot(self) -> list[str]:
        """Return the commands that a cluster would refuse, because they or their transaction name several slots."""
        found: list[str] = []
        is_in_transaction = False
        slots_of_transaction: set[int] = set()
        for command in self.commands:
            slots = set(map(find_slot, command.named()))
            # All commands of a transaction must be in one slot, and none is divided.
            if command.name == "MULTI":
                is_in_transaction = True
            elif command.name == "EXEC":
                is_in_transaction = False
                slots_of_transaction.clear()
            if is_in_transaction:
                slots_of_transaction |= slots
                is_refused = len(slots_of_transaction) > 1
            else:
                # The client divides some commands by slot.
                is_refused = len(slots) > 1 and command.name not in DIVIDED
            if is_refused:
                found.append(str(command))
        return found


_is_checking: ContextVar[bool] = ContextVar("checking", default=False)
_recordings: ContextVar[tuple[Recording, ...]] = ContextVar("recordings", default=())


def active() -> bool:
    """Return whether a recording is active in this context."""
    return bool(_recordings.get())


def redis_sent(commands: Iterable[tuple[Any, ...]]) -> None:
    """Record a round trip with these commands. Connections call this."""
    for recording in _recordings.get():
        recording.round_trips += 1
        for name, *args in commands:
            recording.commands.append(Command(_to_text(name).upper(), tuple(args), recording.round_trips))


def replied(commands: Iterable[tuple[tuple[Any, ...], Any]], replies: Iterable[Any]) -> None:
    """Record the replies to the commands of a pipeline."""
    for recording in _recordings.get():
        recording.replies += [(args, reply) for (args, _), reply in zip(commands, replies, strict=True)]


def read_from(mirrors: Sequence[str], generations: Sequence[str] | None) -> None:
    """Record a read of these mirrors, with their generations, or None if it was left to SQL."""
    for recording in _recordings.get():
        if generations is None:
            recording.fallbacks += 1
        else:
            recording.generations.update(zip(mirrors, generations, strict=True))


@contextmanager
def checks() -> Generator[None, None, None]:
    """Count the SQL statements in the block as checks."""
    token = _is_checking.set(True)
    try:
        yield
    finally:
        _is_checking.reset(token)


def timed_out(seconds: float) -> None:
    """Record that Redis or the broker did not answer within this time."""
    for recording in _recordings.get():
        recording.timeout_seconds += seconds


@contextmanager
def record() -> Generator[Recording, None, None]:
    """Record the block in this thread or task. Recordings nest."""
    recording = Recording()

    def sql(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        start = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            recording.sql.append((sql, time.perf_counter() - start))
            recording.checks += _is_checking.get()

    token = _recordings.set((*_recordings.get(), recording))
    try:
        with ExitStack() as stack:
            # Also those that are opened within the block.
            for connection in connections.all(initialized_only=False):
                stack.enter_context(connection.execute_wrapper(sql))
            yield recording
    finally:
        _recordings.reset(token)
