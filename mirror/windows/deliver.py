"""Delivery of pushed rows to many windows at a time, while no other process pushes the same rows.

Each row has a guard key. A process writes its token there before it reads the row from SQL. Each batch of
deliveries is a transaction that watches the guards and has checked the token. Of two processes that push one row,
the later one has read newer data. It wins, because all further batches of the other one fail.
"""

import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from mirror.redis import naming
from mirror.redis.keys.slots import find_slot
from mirror.redis.scripts import Script
from mirror.redis.session import Command, Conflict, Session
from mirror.redis.types import RedisClient
from mirror.windows.declare import Reached, WindowMirror

PUSH_BUSY_SECONDS: Final = 5  # how long after the renewal of a guard other workers leave its row alone
PUSH_GUARD_SECONDS: Final = 60  # how long a pushed row stays guarded after its worker was killed

# Windows in one transaction and round trip: Redis needs 20 us for each, and other clients wait for the transaction.
BATCH: Final = 200

script: Final = Script(Path(__file__).with_name("push.lua"))


class Batch(NamedTuple):
    """The content of one transaction. claims: commands that precede it on a cluster."""

    commands: list[Command]
    claims: list[Command]
    windows: int


class Deliveries:
    """Deliveries of the rows ``rows`` (keys of changes) over one connection.

    mirrors: those that must stay warm meanwhile. All methods raise Conflict when another process pushes one of the
    rows, a mirror becomes cold or ``stop`` is called, and redis-py's errors when Redis is away.
    """

    def __init__(self, session: Session, mirror: WindowMirror, rows: Sequence[str]) -> None:
        self.session, self._mirror = session, mirror
        self._guards = guards(mirror.name, rows)
        self.mirrors = [mirror.name, *(after.mirror for after in mirror.after)]
        self._others = [*map(naming.marker, self.mirrors), naming.fence(mirror.name)]
        self._token = uuid.uuid4().hex
        self._expected: list[bytes | None] = []
        self._fresh_until = 0.0
        self._under_way = False

    @property
    def claim_token(self) -> str | None:
        """The token of claims, or None on one Redis."""
        return None

    def begin(self) -> list[bytes | None]:
        """Take the guards. Return the markers of ``mirrors``, which must not change until the end."""
        life = PUSH_GUARD_SECONDS * 1000
        sets: list[Command] = [("SET", guard, self._token, "PX", life) for guard in self._guards]
        replies = self.session.ask_watching([*sets, *self._look()])
        self._fresh_until = time.monotonic() + PUSH_BUSY_SECONDS / 2
        found: list[bytes | None] = replies[-1]
        self._expected = [*([self._token.encode()] * len(self._guards)), *found[len(self._guards) :]]
        self._check(found)
        return found[len(self._guards) : -1]

    def post(self, batch: Batch) -> None:
        """Send a batch, which Redis executes in the background."""
        self.finish()
        commands = [*batch.commands, *self._renewal()]
        self.session.post_transaction(commands, self._look())
        self._under_way = True

    def finish(self) -> None:
        """Check the result of the batch in progress, if any."""
        if self._under_way:
            self._under_way = False
            self._check(self.session.collect_transaction()[-1])

    def release(self) -> None:
        """Release the guards."""
        self.finish()
        self.session.execute([("DEL", *self._guards)])

    def give_up(self, redis: RedisClient) -> None:
        """Release the guards that no other process has taken, after a conflict.

        Otherwise other processes would wait for an abandoned guard. A guard that is taken at this very moment may
        be deleted. Then the other process's batch fails and is repeated.
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
        self._fresh_until = time.monotonic() + PUSH_BUSY_SECONDS / 2
        life = PUSH_GUARD_SECONDS * 1000
        return [("PEXPIRE", guard, life) for guard in self._guards]

    def _check(self, found: Sequence[Any]) -> None:
        if list(found) != self._expected:
            raise Conflict


class ClusterDeliveries(Deliveries):
    """Deliveries on a cluster, where no transaction reaches a guard and the windows.

    A batch takes three round trips: claims in each window's slot; a look at the guards, the markers and the mirror's
    fence; and the deliveries, each of which is refused if its claim is gone. Another process that pushes a row takes
    its guard, reads newer data, and then claims the windows, so that a late delivery is refused. A drain of a window
    deletes its claims, because deliveries in progress may have read SQL before it.
    """

    @property
    def claim_token(self) -> str | None:
        return self._token

    def begin(self) -> list[bytes | None]:
        life = PUSH_GUARD_SECONDS * 1000
        self.session.ask([("SET", guard, self._token, "PX", life) for guard in self._guards])
        self._fresh_until = time.monotonic() + PUSH_BUSY_SECONDS / 2
        (found,) = self.session.ask([("MGET", *self._guards, *self._others)])
        self._expected = [*([self._token.encode()] * len(self._guards)), *found[len(self._guards) :]]
        self._check(found)
        markers: list[bytes | None] = found[len(self._guards) : -1]
        return markers

    def post(self, batch: Batch) -> None:
        self.session.ask(batch.claims)
        (found, *_) = self.session.ask([("MGET", *self._guards, *self._others), *self._renewal()])
        self._check(found)
        if b"LOST" in self.session.ask(batch.commands):
            raise Conflict

    def release(self) -> None:
        self.session.ask([("DEL", *self._guards)])


def deliveries_of(session: Session, mirror: WindowMirror, rows: Sequence[str]) -> Deliveries:
    """Return the deliveries for the kind of server that the session has."""
    return (ClusterDeliveries if session.of_cluster else Deliveries)(session, mirror, rows)


def stop(mirror: WindowMirror, redis: RedisClient) -> None:
    """Make all deliveries in progress to this mirror's windows start over with newer data from SQL.

    It is called when rows of other tables have changed which rows belong in the windows, before these are
    recomputed.
    """
    redis.set(naming.fence(mirror.name), uuid.uuid4().hex)


def guards(mirror: str, rows: Sequence[str]) -> list[str]:
    """Return the guard keys of pushed rows, without duplicates."""
    return [naming.guard(mirror, f"row:{row}") for row in dict.fromkeys(rows)]


def find_busy(redis: RedisClient, mirror: str, rows: Sequence[str]) -> set[str]:
    """Return the rows that another process is pushing now. One round trip; only to avoid duplicate work."""
    pipe = redis.pipeline(transaction=False)
    for row in rows:
        pipe.pttl(naming.guard(mirror, f"row:{row}"))
    fresh = (PUSH_GUARD_SECONDS - PUSH_BUSY_SECONDS) * 1000
    lives = pipe.execute()
    return {row for row, life in zip(rows, lives, strict=True) if life > fresh}


def batches(mirror: WindowMirror, reached: Sequence[Reached], token: str | None = None) -> Iterator[Batch]:
    """Yield the deliveries in transactions of bounded size. token: that of the claims on a cluster."""
    calls = _calls(mirror, reached, token)
    while found := list(islice(calls, BATCH)):
        yield Batch([call for call, _ in found], [one for _, claims in found for one in claims], len(found))


def _calls(
    mirror: WindowMirror, reached: Sequence[Reached], token: str | None
) -> Iterator[tuple[Command, Sequence[Command]]]:
    """Yield one call of the script for each window, because its keys are in one slot, and the claims before it."""
    rows: dict[str, tuple[Any, ...]] = defaultdict(tuple)
    for owner, member, source, shown in reached:
        rows[owner] += (member, source, "1" if shown else "0")
    parts = [name.partition("\0")[::2] for name in (mirror.record_key("\0"), *mirror.sources("\0"))]
    for owner, args in rows.items():
        keys = [f"{start}{owner}{end}" for start, end in parts]
        if token is None:
            yield script.command(keys, (mirror.length, *args)), ()
            continue
        slot = find_slot(keys[0])
        claims, fence = naming.claims(slot, keys[0]), naming.row_fence(slot, mirror.name, owner)
        fields = [part for member in args[::3] for part in (member, token)]
        call = script.command([*keys, fence, claims], (mirror.length, *args, token))
        yield call, [("HSET", claims, *fields), ("PEXPIRE", claims, PUSH_GUARD_SECONDS * 1000)]
