"""Reads that SQL must answer, because the caller must see a write that Redis does not have yet.

A request notes the tables that it writes to. Mirrors of these tables are read from SQL until a drain of this request
has applied the change, or to the end of the request if nobody names the changed rows (``.update()`` and raw SQL).
Outside of requests a block of ``atomic()`` does the same until it ends: no drain can apply the change before.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic

from mirror import registry
from mirror.conf import setting
from mirror.relay.statements import ANY


@dataclass
class Request:
    """What a request wrote. It is shared by all threads and tasks of the request.

    wanted: SQL answers all reads. wrote_before: an earlier request of the visitor wrote to SQL lately. writes: number
    of statements that wrote. last: the table of the latest one. hinted: tables of statements whose rows a hint names.
    unhinted: tables of other statements. latest: for each table, the number of the latest statement.
    """

    wanted: bool = False
    wrote_before: bool = False
    writes: int = 0
    last: str | None = None
    hinted: set[str] = field(default_factory=set)
    unhinted: set[str] = field(default_factory=set)
    latest: dict[str, int] = field(default_factory=dict)

    def note_table(self, table: str) -> None:
        """Record a statement that wrote to ``table``."""
        # A hint belongs to the latest statement alone.
        self.leave_last()
        self.last = table
        self.latest[table] = self.writes

    def leave_last(self) -> None:
        """Give up waiting for a hint that names the rows of the latest statement."""
        if self.last is not None:
            self.unhinted.add(self.last)
            self.last = None

    def lacks(self, mirrors: Sequence[str]) -> bool:
        """Return whether Redis may lack a write to a table of these mirrors."""
        tables = self.unhinted | self.hinted
        if self.last is not None:
            tables.add(self.last)
        return _have_any(tables, mirrors)

    def wrote_since(self, number: int, mirrors: Sequence[str]) -> bool:
        """Return whether a statement after this ``number`` wrote to a table of these mirrors."""
        tables = {table for table, latest in self.latest.items() if latest > number}
        return _have_any(tables, mirrors)


def _have_any(tables: set[str], mirrors: Sequence[str]) -> bool:
    """Return whether rows of one of these tables may appear in one of these mirrors."""
    if not tables or not mirrors:
        return False
    if ANY in tables:
        return True
    names = list(mirrors)
    # Rows that are computed in SQL may appear in any mirror.
    names += registry.list_sql_mirrors()
    return any(not tables.isdisjoint(registry.list_tables(name)) for name in names)


# Context variables, because threads and tasks of one request share its writes.
_forced: ContextVar[bool] = ContextVar("sql_only", default=False)
_request: ContextVar[Request | None] = ContextVar("request", default=None)


# The block of ``atomic()`` outside of requests in which a connection wrote last, with the tables
_transactions: WeakKeyDictionary[BaseDatabaseWrapper, tuple[Atomic, set[str]]] = WeakKeyDictionary()


def wanted(mirrors: Sequence[str] = ()) -> bool:
    """Return whether reads (of these mirrors) must avoid Redis in this context."""
    if _forced.get():
        return True
    present = _request.get()
    if present is None:
        return _have_any(_list_uncommitted(), mirrors)
    return present.wanted or present.lacks(mirrors)


def _list_uncommitted() -> set[str]:
    """Return the tables that the present transaction outside of requests wrote to."""
    if not _transactions:
        return set()
    connection = connections[setting("DATABASE")]
    block, tables = _transactions.get(connection, (None, set()))
    if block is None or block is not find_transaction(connection):
        return set()
    return tables


def find_transaction(connection: BaseDatabaseWrapper) -> Atomic | None:
    """Return the outermost block of ``atomic()`` that a connection is in, or None.

    Those of a TestCase do not count: code under test would never leave them.
    """
    blocks: list[Atomic] = connection.atomic_blocks
    return next((block for block in blocks if not getattr(block, "_from_testcase", False)), None)


@contextmanager
def sql_only() -> Generator[None, None, None]:
    """Let SQL answer every mirrored read in the block."""
    token = _forced.set(True)
    try:
        yield
    finally:
        _forced.reset(token)


@contextmanager
def request(present: Request | None = None) -> Generator[None, None, None]:
    """Mark the block as a request, or as a part of the request ``present``."""
    token = _request.set(present or Request())
    try:
        yield
    finally:
        _request.reset(token)


def in_request() -> bool:
    """Return whether the middleware of this request drains afterwards what is left."""
    return _request.get() is not None


def note_write() -> None:
    """Count a statement by which this request writes to SQL."""
    if present := _request.get():
        present.writes += 1


def note_table(table: str, connection: BaseDatabaseWrapper) -> None:
    """Record that a statement of this request, or of the transaction of this connection, wrote to ``table``."""
    if present := _request.get():
        present.note_table(table)
    elif block := find_transaction(connection):
        known, tables = _transactions.get(connection, (None, set()))
        if known is not block:
            tables = set()
        tables.add(table)
        _transactions[connection] = (block, tables)


def note_hint(table: str, *, is_change: bool = True) -> None:
    """Record that hints name all rows of the latest statement, if that statement wrote to ``table``.

    is_change: False if the statement changed nothing that a mirror shows.
    """
    present = _request.get()
    if present and present.last == table:
        present.last = None
        if is_change:
            present.hinted.add(table)


def expect_statement() -> None:
    """Let the next hint belong to a later statement only."""
    if present := _request.get():
        present.leave_last()


def note_drain() -> None:
    """Record that the rows of all hints were drained. (If some were left to the relay, use ``prefer`` as well.)"""
    if present := _request.get():
        present.hinted.clear()


def count_writes() -> int:
    """Return the number of this request's statements that wrote so far."""
    present = _request.get()
    return present.writes if present else 0


def wrote_since(number: int, mirrors: Iterable[str]) -> bool:
    """Return whether this request wrote to a table of these mirrors after ``count_writes`` returned ``number``."""
    present = _request.get()
    return present is not None and present.wrote_since(number, tuple(mirrors))


def has_written() -> bool:
    """Return whether this request, or an earlier one of its visitor, wrote to SQL lately."""
    present = _request.get()
    return present is not None and (present.wrote_before or present.writes > 0)


def prefer() -> None:
    """Let SQL answer the rest of this request, if there is one."""
    if present := _request.get():
        present.wanted = True
