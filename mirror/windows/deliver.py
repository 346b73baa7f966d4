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


class _Call(NamedTuple):
    """A call of the script, which delivers rows to one window. claims: commands that precede it on a cluster."""

    command: Command
    claims: Sequence[Command]


class Deliveries:
    """Deliveries of the rows ``rows`` (keys of changes) over one connection.

    mirrors: those that must stay warm meanwhile. All methods raise Conflict when another process pushes one of the
    rows, a mirror becomes cold or ``stop_deliveries`` is called, and redis-py's errors when Redis is away.
    """

    def __init__(self, session: Session, mirror: WindowMirror, rows: Sequence[str]) -> None:
        self.session = session
        self._guards = name_guards(mirror.name, rows)
        self.mirrors = [mirror.name]
        self.mirrors += [after.mirror for after in mirror.after]
        markers = [naming.marker(name) for name in self.mirrors]
        self._watched = self._guards + markers + [naming.fence(mirror.name)]
        self._token = uuid.uuid4().hex
        self._expected: list[bytes | None] = []
        self._fresh_until = 0.0
        self._under_way = False

    @property
    def claim_token(self) -> str | None:
        """The token of claims, or None on one Redis."""
        return None

    def take_guards(self) -> list[bytes | None]:
        """Take the guards. Return the markers of ``mirrors``, which must not change until the end."""
        # WATCH after SET in one round trip: the own SET would break the WATCH.
        replies = self.session.ask_watching(self._set_guards() + self._watch_and_read())
        return self._note_expected(replies[-1])

    def post_batch(self, batch: Batch) -> None:
        """Send a batch, which Redis executes in the background."""
        self.finish_batch()
        # EXEC ends all watches. New ones are in the same round trip, so no change between two batches is missed.
        self.session.post_transaction(batch.commands + self._renew_guards(), self._watch_and_read())
        self._under_way = True

    def finish_batch(self) -> None:
        """Check the result of the batch in progress, if any."""
        if self._under_way:
            self._under_way = False
            self._refuse_change(self.session.collect_transaction()[-1])

    def release_guards(self) -> None:
        """Release the guards."""
        self.finish_batch()
        self.session.execute([("DEL", *self._guards)])

    def give_up(self, redis: RedisClient) -> None:
        """Release the guards that no other process has taken, after a conflict.

        Otherwise other processes would wait for an abandoned guard.
        """
        tokens = redis.mget(self._guards)
        own_token = self._token.encode()
        own = [guard for guard, token in zip(self._guards, tokens, strict=True) if token == own_token]
        # A guard that is taken at this very moment is deleted, too. The batch of the other process then fails and is
        # repeated.
        if own:
            redis.delete(*own)

    def _set_guards(self) -> list[Command]:
        life = PUSH_GUARD_SECONDS * 1000
        return [("SET", guard, self._token, "PX", life) for guard in self._guards]

    def _renew_guards(self) -> list[Command]:
        """Return the commands that extend the lives of the guards, if others would soon take them for abandoned."""
        if time.monotonic() < self._fresh_until:
            return []
        self._note_fresh()
        life = PUSH_GUARD_SECONDS * 1000
        return [("PEXPIRE", guard, life) for guard in self._guards]

    def _note_fresh(self) -> None:
        self._fresh_until = time.monotonic() + PUSH_BUSY_SECONDS / 2

    def _watch_and_read(self) -> list[Command]:
        return [("WATCH", *self._watched), ("MGET", *self._watched)]

    def _note_expected(self, found: list[bytes | None]) -> list[bytes | None]:
        """Note the values that the watched keys must keep until the end. Return the markers among them."""
        self._note_fresh()
        others = found[len(self._guards) :]
        # The guards as they must be, not as found: another process may have taken one since.
        guards: list[bytes | None] = [self._token.encode()] * len(self._guards)
        self._expected = guards + others
        self._refuse_change(found)
        # The last one is the fence.
        return others[:-1]

    def _refuse_change(self, found: Sequence[Any]) -> None:
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

    def take_guards(self) -> list[bytes | None]:
        # Two round trips: commands to several masters have no order.
        self.session.ask(self._set_guards())
        (found,) = self.session.ask([("MGET", *self._watched)])
        return self._note_expected(found)

    def post_batch(self, batch: Batch) -> None:
        # Claims before the look: a process that takes a guard after the look finds the claims and replaces them.
        self.session.ask(batch.claims)
        replies = self.session.ask([("MGET", *self._watched), *self._renew_guards()])
        self._refuse_change(replies[0])
        if b"LOST" in self.session.ask(batch.commands):
            raise Conflict

    def release_guards(self) -> None:
        self.session.ask([("DEL", *self._guards)])


def deliveries_of(session: Session, mirror: WindowMirror, rows: Sequence[str]) -> Deliveries:
    """Return the deliveries for the kind of server that the session has."""
    deliveries = ClusterDeliveries if session.of_cluster else Deliveries
    return deliveries(session, mirror, rows)


def stop_deliveries(mirror: WindowMirror, redis: RedisClient) -> None:
    """Make all deliveries in progress to this mirror's windows start over with newer data from SQL.

    It is called when rows of other tables have changed which rows belong in the windows, before these are
    recomputed.
    """
    redis.set(naming.fence(mirror.name), uuid.uuid4().hex)


def name_guards(mirror: str, rows: Sequence[str]) -> list[str]:
    """Return the guard keys of pushed rows, without duplicates."""
    return [_name_guard(mirror, row) for row in dict.fromkeys(rows)]


def _name_guard(mirror: str, row: str) -> str:
    return naming.guard(mirror, f"row:{row}")


def find_busy(redis: RedisClient, mirror: str, rows: Sequence[str]) -> set[str]:
    """Return the rows that another process is pushing now. One round trip; only to avoid duplicate work."""
    pipe = redis.pipeline(transaction=False)
    for row in rows:
        pipe.pttl(_name_guard(mirror, row))
    remaining_times = pipe.execute()
    # Each step renews the guard. One that was renewed less than PUSH_BUSY_SECONDS ago has at least this time left.
    fresh = (PUSH_GUARD_SECONDS - PUSH_BUSY_SECONDS) * 1000
    return {row for row, remaining in zip(rows, remaining_times, strict=True) if remaining > fresh}


def make_batches(mirror: WindowMirror, reached: Sequence[Reached], token: str | None = None) -> Iterator[Batch]:
    """Yield the deliveries in transactions of bounded size. token: that of the claims on a cluster."""
    calls = _list_calls(mirror, reached, token)
    while chunk := list(islice(calls, BATCH)):
        commands = [call.command for call in chunk]
        claims: list[Command] = []
        for call in chunk:
            claims += call.claims
        yield Batch(commands, claims, len(chunk))


def _list_calls(mirror: WindowMirror, reached: Sequence[Reached], token: str | None) -> Iterator[_Call]:
    """Yield one call for each window, because a script on a cluster reaches the keys of one slot."""
    rows: dict[str, list[Reached]] = defaultdict(list)
    for one in reached:
        rows[one.owner].append(one)
    for owner, delivered in rows.items():
        keys = [mirror.record_key(owner), *mirror.sources(owner)]
        args: list[Any] = [mirror.length]
        for one in delivered:
            args += (one.member, one.source, one.also, "1" if one.shown else "0")
        if token is None:
            yield _Call(script.command(keys, args), ())
        else:
            yield _claim_call(mirror, owner, keys, args, [one.member for one in delivered], token)


def _claim_call(
    mirror: WindowMirror, owner: str, keys: Sequence[str], args: Sequence[Any], members: Sequence[int], token: str
) -> _Call:
    """Return a call on a cluster, which delivers nothing if its claims of these members are gone."""
    slot = find_slot(keys[0])
    claims = naming.claims(slot, keys[0])
    fence = naming.row_fence(slot, mirror.name, owner)
    fields: list[Any] = []
    for member in members:
        fields += (member, token)
    command = script.command([*keys, fence, claims], [*args, token])
    return _Call(command, [("HSET", claims, *fields), ("PEXPIRE", claims, PUSH_GUARD_SECONDS * 1000)])
