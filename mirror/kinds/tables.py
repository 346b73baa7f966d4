"""Tables: derived rows in SQL, which are written together with the marks of their changes in one transaction.

Drains of mirrors that write the same tables exclude one another by a row lock. Under it a drain reads first the ids
of the pending changes and then the rows, like ``mirror.relay.apply``, so that changes committed later stay pending.
Redis is not involved, so a reader in SQL can update the tables first.

Triggers cannot compute such rows (a search index), because they would have to normalise Unicode in two dialects.
PostgreSQL's full-text search and SQLite's give different answers, and Redis has neither. The tables have triggers of
their own, so another mirror carries them to Redis.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction

from mirror.comparison import compare
from mirror.comparison.compare import Difference
from mirror.comparison.explained import Explained
from mirror.comparison.verification import Verification, note_result
from mirror.conf import use_database
from mirror.declare import values
from mirror.declare.mirrors import TableMirror
from mirror.kinds.base import Kind, Reader
from mirror.models import State
from mirror.outbox import changes as outbox
from mirror.redis.session import Session
from mirror.utils.callbacks import ProgressCallback
from mirror.utils.counters import count


class TableKind(Kind):
    """Rows that are derived in SQL."""

    mirror: TableMirror
    declaration = TableMirror
    needed = ("load", "replace", "stored", "stored_after")
    can_share = False

    def replace_rows(self, pks: Sequence[str]) -> int:
        mirror = self.mirror
        with use_database(None), transaction.atomic(using=outbox.using()):
            # The lock of all mirrors that write the same tables
            State.objects.using(outbox.using()).select_for_update().get_or_create(mirror=mirror.tables)
            # The ids before the rows: a change that is committed between them stays pending.
            pending = outbox.pending_of(mirror.name, pks, mirror.version)
            mirror.replace(pks, self.load(pks))
            ids: list[int] = []
            for changes in pending.values():
                ids += [change.id for change in changes]
            applied = outbox.mark_applied(ids, "")
        count("applied", applied, mirror=mirror.name)
        return applied

    def limit_batch(self, rows: int) -> int:
        return min(rows, self.mirror.batch)

    def list_readers(self) -> list[Reader]:
        return [self.mirror.keys_after, self.mirror.stored_after]

    def verification(self, session: Session, progress: ProgressCallback, *, all_strays: bool) -> Verification:
        return _TableVerification(self, progress)

    def compare(self, pks: Sequence[str], strays: Mapping[str, Iterable[Any]], session: Session) -> list[Difference]:
        return self.find_differences(pks)

    def compare_sample(
        self,
        session: Session,
        list_keys: Callable[[], Sequence[str]],
        list_rows: Callable[[], Sequence[str]],
        limit: int,
    ) -> list[Difference]:
        # A sample is compared because Redis lost data. These rows are in SQL.
        return []

    def find_differences(self, pks: Sequence[str]) -> list[Difference]:
        """Return the stored rows that differ from their source rows in every comparison."""
        found: list[Difference] = []
        for _ in compare.number_tries():
            rows = self.load(pks)
            stored = self.mirror.stored(pks)
            # After the rows, so that a change which came between them excuses a difference
            busy = outbox.pending_of(self.mirror.name, pks)
            pks = [pk for pk in pks if pk not in busy and rows.get(pk) != stored.get(pk)]
            differences = [self._describe_difference(pk, rows.get(pk), stored.get(pk)) for pk in pks]
            found = compare.leave_waiting(self.mirror, differences)
            if not found:
                break
        return found

    def _describe_difference(self, pk: str, row: Any, stored: Any) -> Difference:
        kind: compare.Kind = "stale"
        if row is None:
            kind = "stray"
        elif stored is None:
            kind = "missing"
        return Difference(
            self.mirror.name, pk, kind, self.mirror.tables, None, _describe_row(row), _describe_row(stored)
        )

    def explain(self, pk: str, session: Session) -> Explained:
        pending = outbox.pending_of(self.mirror.name, [pk]).get(pk, [])
        ids = [change.id for change in pending]
        wanted = _describe_row(self.mirror.load([pk]).get(pk))
        stored = _describe_row(self.mirror.stored([pk]).get(pk))
        return Explained(self.mirror.name, self.mirror.tables, wanted, stored, [], ids)


def _describe_row(row: Any) -> str | None:
    """Return a row as text, or None without one."""
    if row is None:
        return None
    return str(row)


class _TableVerification(Verification):
    """The verification of a table mirror, which has nothing in Redis."""

    def __init__(self, kind: TableKind, progress: ProgressCallback) -> None:
        self.kind = kind
        self.mirror = kind.mirror
        self.progress = progress

    def result(self) -> list[Difference]:
        """Return the lasting differences of all source rows and stored rows."""
        found: list[Difference] = []
        for keys_after in self.kind.list_readers():
            for pks in values.read_batches(self.mirror.name, keys_after, self.kind.mirror.batch):
                found += self.kind.find_differences(pks)
                self.progress(self.mirror.name, len(pks))
        found = list(dict.fromkeys(found))
        note_result(self.mirror.name, len(found))
        return found

    def some(self, count: int) -> list[Difference]:
        """Return the differences of the first ``count`` rows. A random choice would have to read all rows."""
        return self.kind.find_differences(self.mirror.keys_after(None, count))
