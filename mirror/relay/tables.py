"""Table mirrors, which write to SQL: derived rows and the marks of their changes are written in one transaction.

Drains of mirrors that write the same tables exclude one another by a row lock. Under it a drain reads first the ids
of the pending changes and then the rows, like ``apply``, so that changes committed later stay pending. Redis
is not involved, so a reader in SQL can update the tables first.

Triggers cannot compute such rows (a search index), because they would have to normalise Unicode in two dialects.
PostgreSQL's full-text search and SQLite's give different answers, and Redis has neither. The tables have triggers of
their own, so another mirror carries them to Redis.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import Error as DatabaseError
from django.db import transaction

from mirror import registry
from mirror.conf import use_database
from mirror.declare.mirrors import TableMirror
from mirror.metrics import count
from mirror.models import State
from mirror.outbox import changes as outbox
from mirror.outbox import spread
from mirror.relay.shapes import JsonShape
from mirror.utils import sql_away
from mirror.verify.compare import Difference, Kind, leave_waiting, number_looks

__all__ = ["catch_up"]
logger = logging.getLogger("mirror")


def replace_rows(mirror: TableMirror, pks: Sequence[str]) -> int:
    """Make the stored rows for these keys equal to their source rows. Return the number of marked changes."""
    with use_database(None), transaction.atomic(using=outbox.using()):
        State.objects.using(outbox.using()).select_for_update().get_or_create(mirror=mirror.tables)
        pending = outbox.pending_of(mirror.name, pks, mirror.version)
        mirror.replace(pks, _load(mirror, pks))
        applied = outbox.mark_applied([change.id for changes in pending.values() for change in changes], "")
    count("applied", applied, mirror=mirror.name)
    return applied


def catch_up(names: Sequence[str], limit: int) -> None:
    """Apply about ``limit`` pending changes of each of these mirrors. Never raises: the relay retries later.

    One query if nothing is pending. Changes of other tables (a tag, for books) are spread first, one slice of each.
    """
    try:
        pending = outbox.pending_of_mirrors(names, limit)
        for name, source in {(name, source) for name, source, _ in pending if source}:
            values = [key for change, table, key in pending if (change, table) == (name, source)]
            next(spread.slices(name, source, values), None)
        if any(source for _, source, _ in pending):
            pending = outbox.pending_of_mirrors(names, limit)
        for name in {name for name, _, _ in pending}:
            mirror = registry.get(name)
            keys = [key for change, source, key in pending if change == name and not source and key != outbox.WHOLE]
            if keys and isinstance(mirror, TableMirror):
                replace_rows(mirror, list(dict.fromkeys(keys)))
    except DatabaseError as error:
        sql_away.report_outage(error)
    except outbox.OutdatedLayout as error:
        logger.debug("Pending changes are left to newer code: %s", error)
    except Exception:  # an error of the declaration; the relay finds the failing key
        logger.exception("Pending changes could not be taken in, the relay will see to it")


def find_differences(mirror: TableMirror, pks: Sequence[str]) -> list[Difference]:
    """Return the stored rows that differ from their source rows in every comparison."""
    found: list[Difference] = []
    for _ in number_looks():
        rows, stored = _load(mirror, pks), mirror.stored(pks)
        busy = outbox.pending_of(mirror.name, pks)
        pks = [pk for pk in pks if pk not in busy and rows.get(pk) != stored.get(pk)]
        found = leave_waiting(mirror, [_difference(mirror, pk, rows.get(pk), stored.get(pk)) for pk in pks])
        if not found:
            break
    return found


def _load(mirror: TableMirror, pks: Sequence[str]) -> Mapping[str, Any]:
    return JsonShape(mirror).load(pks)


def _difference(mirror: TableMirror, pk: str, row: Any, stored: Any) -> Difference:
    kind: Kind = "stray" if row is None else "missing" if stored is None else "stale"
    wanted, found = (None if value is None else str(value) for value in (row, stored))
    return Difference(mirror.name, pk, kind, mirror.tables, None, wanted, found)
