"""Taking rows to windows in Redis, many windows at a time, as long as nobody else is at these rows.

Each row has a guard key. Whoever is going to read a row from SQL first writes a token of their own there; each batch
of deliveries is a transaction that watches the guards and has seen the token. So of two who are at one row, the one
who came later, and has read it later, wins, and the other one's batches fail from then on.
"""

import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from mirror import naming
from mirror.conf import milliseconds, setting
from mirror.declare import Reached, WindowMirror
from mirror.scripts import Script
from mirror.session import Command, Conflict, Session

BATCH: Final = 200  # windows that one transaction reaches, and one round trip

script: Final = Script(Path(__file__).with_name("push.lua"))


class Batch(NamedTuple):
    """What goes into one transaction."""

    commands: list[Command]
    windows: int


class Deliveries:
    """Deliveries of the rows ``rows`` (keys of changes) over one connection.

    mirrors: those that have to stay whole meanwhile. All methods raise Conflict when somebody else is at one of the
    rows, when a mirror goes cold, and when ``stop`` was called; and redis-py's errors when Redis is away.
    """

    def __init__(self, session: Session, mirror: WindowMirror, rows: Sequence[str]) -> None:
        self.session = session
        self._guards = guards(mirror.name, rows)
        self.mirrors = [mirror.name, *(after.mirror for after in mirror.after)]
        self._others = [*map(naming.marker, self.mirrors), naming.fence(mirror.name)]
        self._token = uuid.uuid4().hex
        self._expected: list[bytes | None] = []
        self._fresh_until = 0.0
        self._under_way = False

    def begin(self) -> list[bytes | None]:
        """Take the guards. Returns what the markers of ``mirrors`` say: they have to say it until the end."""
        life = milliseconds("PUSH_GUARD_SECONDS")
        sets: list[Command] = [("SET", guard, self._token, "PX", life) for guard in self._guards]
        replies = self.session.ask_watching([*sets, *self._look()])
        self._fresh_until = time.monotonic() + setting("PUSH_BUSY_SECONDS") / 2
        found: list[bytes | None] = replies[-1]
        self._expected = [*([self._token.encode()] * len(self._guards)), *found[len(self._guards) :]]
        self._check(found)
        return found[len(self._guards) : -1]

    def post(self, batch: Batch) -> None:
        """Send a batch; Redis works on it while the caller does something else."""
        self.land()
        commands = [*batch.commands, *self._renewal()]
        self.session.post_transaction(commands, self._look())
        self._under_way = True

    def land(self) -> None:
        """See what became of the batch that is under way, if there is one."""
        if self._under_way:
            self._under_way = False
            self._check(self.session.collect_transaction()[-1])

    def release(self) -> None:
        """Give the guards back."""
        self.land()
        self.session.execute([("DEL", *self._guards)])

    def give_up(self, redis: Any) -> None:
        """After a conflict: give back the guards that nobody else has taken, so that nobody waits for who is not there.

        One that is taken at this very moment is lost to the other: whose batch then fails, and is done again.
        """
        found = zip(self._guards, redis.mget(self._guards), strict=True)
        if own := [guard for guard, token in found if token == self._token.encode()]:
            redis.delete(*own)

    def _look(self) -> list[Command]:
        keys = [*self._guards, *self._others]
        return [("WATCH", *keys), ("MGET", *keys)]

    def _renewal(self) -> list[Command]:
        if time.monotonic() < self._fresh_until:
            return []
        self._fresh_until = time.monotonic() + setting("PUSH_BUSY_SECONDS") / 2
        life = milliseconds("PUSH_GUARD_SECONDS")
        return [("PEXPIRE", guard, life) for guard in self._guards]

    def _check(self, found: Sequence[Any]) -> None:
        if list(found) != self._expected:
            raise Conflict


def stop(mirror: WindowMirror, redis: Any) -> None:
    """Have all deliveries to this mirror's windows, which are under way, start over from what SQL says now: whether a
    row belongs there has changed by other tables than its own, and windows are going to be recomputed.
    """
    redis.set(naming.fence(mirror.name), uuid.uuid4().hex)


def guards(mirror: str, rows: Sequence[str]) -> list[str]:
    """The guard keys of pushed rows, each once."""
    return [naming.guard(mirror, f"row:{row}") for row in dict.fromkeys(rows)]


def busy(redis: Any, mirror: str, rows: Sequence[str]) -> set[str]:
    """Those of these rows that somebody is at now: better left to them. (One round trip; for economy alone.)"""
    pipe = redis.pipeline(transaction=False)
    for row in rows:
        pipe.pttl(naming.guard(mirror, f"row:{row}"))
    fresh = milliseconds("PUSH_GUARD_SECONDS") - milliseconds("PUSH_BUSY_SECONDS")
    return {row for row, life in zip(rows, pipe.execute(), strict=True) if life > fresh}


def batches(mirror: WindowMirror, reached: Sequence[Reached]) -> Iterator[Batch]:
    """What takes rows to their windows, in transactions of bearable size."""
    calls = _calls(mirror, reached)
    while commands := list(islice(calls, BATCH)):
        yield Batch(commands, len(commands))


def _calls(mirror: WindowMirror, reached: Sequence[Reached]) -> Iterator[Command]:
    """A call of the script for each window: its keys are in one slot, and no others could be in the same call."""
    rows: dict[str, tuple[Any, ...]] = defaultdict(tuple)
    for owner, member, source, shown in reached:
        rows[owner] += (member, source, "1" if shown else "0")
    parts = [name.partition("\0")[::2] for name in (mirror.key("\0"), *mirror.sources("\0"))]
    for owner, args in rows.items():
        yield script.command([f"{start}{owner}{end}" for start, end in parts], (mirror.length, *args))
