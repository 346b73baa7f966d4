"""Draining keys: the only code that writes mirrored entries, apart from pushes (``mirror.windows.deliver``).

Correctness depends on the order of the steps, none of which may be moved:

1. Redis: WATCH the rows' own keys and read their records.
2. SQL: read the ids of the pending changes, and only then the rows.
3. Redis: MULTI; write the own keys (always, otherwise WATCH has no effect); remove and add entries; EXEC.
4. SQL: mark exactly those ids as applied (and order the changes of chained mirrors: ``mirror.outbox.chains``).

A crash between any two steps leaves the ids pending, and repeating the drain is harmless. A concurrent write makes
EXEC fail, and the drain starts over with newer rows. So no other drain of a row writes between WATCH and EXEC of
one drain. This puts all drains of a row into one order, and each of them reads SQL later than the one before. The
ids are read before the rows: the rows contain each change with an id that was read, and a change committed in between
stays pending and is drained again. Reading both in one statement would give the same guarantee, but every ``load``
would have to be one statement.
"""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

from redis.exceptions import RedisError

from mirror import registry
from mirror.declare.mirrors import Mirror
from mirror.kinds import Kind, kind_of
from mirror.outbox import chains
from mirror.outbox import changes as outbox
from mirror.redis.clients import relay_client
from mirror.redis.session import Conflict, Session
from mirror.redis.types import RedisClient
from mirror.relay.protocols import protocol_of
from mirror.relay.work import Part, Work, read_works
from mirror.utils.callbacks import Step, ignore

TRIES: Final = 20


class Drained(NamedTuple):
    """The result of a drain: numbers of written rows and of marked changes."""

    rows: int
    changes: int


def drain(
    mirror: Mirror,
    pks: Sequence[str],
    *,
    redis: RedisClient | None = None,
    full: bool = False,
    step: Step = ignore,
    tries: int = TRIES,
    kind: Kind | None = None,
) -> Drained:
    """Make the records and entries of these rows equal to SQL, and mark their changes as applied.

    full: write every entry again, not only the difference to the previous record, and leave the feed alone (for a
    rebuild). step: called with the name of each step before it. kind: replaces the mirror's kind.

    Raises Conflict after too many concurrent writes, redis-py's errors when Redis is away, ProgrammingError inside
    a transaction, and any error of the declaration.
    """

    def start_attempt(is_forced: bool) -> Drain:
        return start(mirror, pks, redis=redis, full=full, step=step, kind=kind, is_forced=is_forced)

    return _try_repeatedly(start_attempt, tries, mirror.name)


def drain_together(rows: Mapping[str, Sequence[str]], *, redis: RedisClient | None = None, tries: int = TRIES) -> int:
    """Drain the rows of several mirrors, by name, in one transaction. Return the number of marked changes.

    Rows without pending changes are left alone. The mirrors are written in the given order. Table mirrors and summaries
    cannot take part. Raises the same errors as ``drain``, and UnknownMirror.
    """
    parts: list[Part] = []
    for name, pks in rows.items():
        kind = kind_of(registry.get(name))
        parts.append(Part(kind, pks))
    client = redis or relay_client()

    def start_attempt(is_forced: bool) -> Drain:
        return _start_attempt(RedisDrain(parts, client, pending_only=True, is_forced=is_forced))

    all_names = "|".join(rows)
    return _try_repeatedly(start_attempt, tries, all_names).changes


def start(
    mirror: Mirror,
    pks: Sequence[str],
    *,
    redis: RedisClient | None = None,
    full: bool = False,
    step: Step = ignore,
    kind: Kind | None = None,
    is_forced: bool = True,
) -> "Drain":
    """Start one attempt: read, and send the write. Redis executes it until ``Drain.finish``.

    is_forced: on a cluster, do not wait for drains of the same rows that have begun a moment ago. Raises the same
    errors as ``drain``.
    """
    kind = kind or kind_of(mirror)
    if mirror.is_in_sql:
        return _start_attempt(SqlDrain(kind, pks))
    parts = [Part(kind, pks)]
    client = redis or relay_client()
    return _start_attempt(RedisDrain(parts, client, full=full, step=step, is_forced=is_forced))


def _start_attempt(attempt: "Drain") -> "Drain":
    """Start an attempt outside of transactions: Redis would show changes that may be rolled back."""
    outbox.refuse_transaction()
    attempt.start()
    return attempt


def _try_repeatedly(start_attempt: Callable[[bool], "Drain"], tries: int, names: str) -> Drained:
    """Repeat attempts after conflicts. names: of the mirrors, for the error."""
    for attempt in range(tries):
        # The first half of the attempts wait for drains of the same rows on a cluster, the second half overtake them.
        is_forced = attempt >= tries // 2
        try:
            return start_attempt(is_forced).finish()
        except Conflict:
            # For a random time, so that drains of the same rows do not meet again.
            time.sleep(random.uniform(0, 0.002 * min(attempt, 10)))
    raise Conflict(f"{names}: others kept writing the same rows")


class Drain(ABC):
    """One attempt in two halves, so that SQL can be read for other rows while Redis writes these."""

    @abstractmethod
    def start(self) -> None:
        """Read, and send the write."""

    @abstractmethod
    def finish(self) -> Drained:
        """Wait for the write, and mark the changes. Raises Conflict if nothing was written."""

    @abstractmethod
    def abandon(self) -> None:
        """Give up an attempt that is not finished. Its changes stay pending."""


class SqlDrain(Drain):
    """An attempt at rows that are derived in SQL. There is nothing to wait for in between."""

    def __init__(self, kind: Kind, pks: Sequence[str]) -> None:
        self._kind = kind
        self._pks = pks

    def start(self) -> None:
        """Do nothing."""

    def finish(self) -> Drained:
        return Drained(len(self._pks), self._kind.replace_rows(self._pks))

    def abandon(self) -> None:
        """Do nothing."""


class RedisDrain(Drain):
    """An attempt at rows of one or several mirrors in Redis. Options: as for ``drain`` and ``drain_together``."""

    def __init__(
        self,
        parts: Sequence[Part],
        redis: RedisClient,
        *,
        full: bool = False,
        step: Step = ignore,
        pending_only: bool = False,
        is_forced: bool = True,
    ) -> None:
        self._parts = parts
        self._redis = redis
        self._step = step
        self._full = full
        self._pending_only = pending_only
        self._is_forced = is_forced
        self._opened = ExitStack()  # holds the session until the write is collected
        self._works: list[Work] = []

    def start(self) -> None:
        with ExitStack() as opened:
            self._session = opened.enter_context(Session(self._redis))
            self._protocol = protocol_of(self._session, self._parts, is_forced=self._is_forced)
            if self._send_write():
                self._opened = opened.pop_all()  # otherwise the session ends here

    def _send_write(self) -> bool:
        """Read Redis, then SQL, and send the write. Return False if there are no rows to write."""
        self._step("watch")
        # Redis before SQL: a drain that writes these rows from here on makes EXEC fail, so its newer rows stay.
        states = self._protocol.begin()
        self._step("read")

        def read() -> list[Work]:
            return read_works(
                self._parts, states, full=self._full, pending_only=self._pending_only, staged=self._protocol.staged
            )

        works = read()
        # Other drains may have applied all changes meanwhile.
        if not any(work.owns for work in works):
            self._protocol.release()
            return False
        self._works = self._protocol.settle(works, read)
        # Redis works in the background from here on, and the caller may read SQL for other rows.
        self._step("write")
        self._protocol.post(self._works)
        return True

    def finish(self) -> Drained:
        if not self._works:
            return Drained(0, 0)
        with self._opened:
            # Redis answers before the changes are marked: after a crash in between they are drained again.
            self._collect_write()
            incarnation = self._session.incarnation
        self._step("mark")
        changes: dict[str, list[outbox.Pending]] = {}
        written_rows = 0
        for part, work in zip(self._parts, self._works, strict=True):
            changes[part.kind.mirror.name] = work.changes
            written_rows += len(work.owns)
        # With the incarnation, by which a replay knows what another server has received.
        chains.mark(changes, incarnation)
        self._step("done")
        marked_changes = sum(map(len, changes.values()))
        return Drained(written_rows, marked_changes)

    def _collect_write(self) -> None:
        """Collect the result of the write.

        If one command of a transaction fails, Redis executes the others. The record may then exist without an entry,
        so the next attempt must not rely on the record.
        """
        try:
            self._protocol.collect()
        except RedisError:
            outbox.mark_incomplete([change.id for work in self._works for change in work.changes])
            raise

    def abandon(self) -> None:
        """End the connection, which may still receive replies."""
        self._opened.close()
