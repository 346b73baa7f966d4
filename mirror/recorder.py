"""Tells what a block of code asked of Redis and of SQL.

>>> with record() as seen:
...     ...
>>> seen.round_trips, seen.commands, len(seen.sql)
"""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.db import connections


@dataclass(frozen=True)
class Command:
    """One Redis command, its keys (as the first argument says), and the round trip it went in (from 1)."""

    name: str
    args: tuple[Any, ...]
    trip: int

    def __str__(self) -> str:
        shown = [a.decode(errors="replace") if isinstance(a, bytes) else str(a) for a in self.args]
        return " ".join([self.name, *shown])


@dataclass
class Recording:
    """What was seen: ``commands`` in order, the number of ``round_trips``, and ``sql`` (text, seconds)."""

    round_trips: int = 0
    commands: list[Command] = field(default_factory=list)
    sql: list[tuple[str, float]] = field(default_factory=list)

    def keys(self) -> list[str]:
        """The first argument of each command, without doubles: the keys for most commands."""
        names = (c.args[0] for c in self.commands if c.args)
        return list(dict.fromkeys(n.decode() if isinstance(n, bytes) else str(n) for n in names))


_recordings: ContextVar[tuple[Recording, ...]] = ContextVar("recordings", default=())


def active() -> bool:
    """Whether anything is being recorded here."""
    return bool(_recordings.get())


def redis_sent(commands: Iterable[tuple[Any, ...]]) -> None:
    """Called by connections: one round trip with these commands."""
    for recording in _recordings.get():
        recording.round_trips += 1
        for name, *args in commands:
            text = name.decode() if isinstance(name, bytes) else str(name)
            recording.commands.append(Command(text.upper(), tuple(args), recording.round_trips))


@contextmanager
def record() -> Generator[Recording, None, None]:
    """Record the block that follows, in this thread (or task). Recordings nest."""
    recording = Recording()

    def sql(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        start = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            recording.sql.append((sql, time.perf_counter() - start))

    token = _recordings.set((*_recordings.get(), recording))
    try:
        with ExitStack() as stack:
            for connection in connections.all(initialized_only=False):
                stack.enter_context(connection.execute_wrapper(sql))
            yield recording
    finally:
        _recordings.reset(token)
