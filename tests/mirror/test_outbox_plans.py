"""On PostgreSQL no statement of a drain reads more rows than it returns or marks, whatever the table's statistics."""

from collections.abc import Callable

import pytest
from django.db import connection, transaction

from mirror.models import Change
from mirror.outbox import changes
from tests.support.mirror.outbox import run

pytestmark = [pytest.mark.only_on("postgres"), pytest.mark.usefixtures("committed", "no_hints", "own_statistics")]

MANY, BATCH = 10_000, 200
SLACK = 20  # rows read to find the end of a range


@pytest.fixture
def own_statistics() -> None:
    """Turn autovacuum off, so that the test alone determines the outbox's statistics."""
    run("ALTER TABLE mirror_change SET (autovacuum_enabled = off)", "VACUUM FULL mirror_change")


def append(start: int, *, applied: bool = False, key: str = "n::text") -> None:
    """Append ``MANY`` changes whose rows start at ``start``."""
    applied_at = "now()" if applied else "NULL"
    run(
        f"INSERT INTO mirror_change (mirror, key, applied_at) SELECT 'titem', {key}, {applied_at}"
        f" FROM generate_series({start}, {start + MANY - 1}) AS n"
    )


def at_rest() -> None:
    """Analyze the outbox without pending changes, then append some."""
    append(0, applied=True)
    run("VACUUM ANALYZE mirror_change")
    append(MANY)


def with_much_pending() -> None:
    """Analyze the outbox together with its pending changes."""
    append(0, applied=True)
    append(MANY)
    run("ANALYZE mirror_change")


def long_drained() -> None:
    """Analyze the outbox with pending changes only, apply and vacuum them, and append others."""
    append(0)
    run("ANALYZE mirror_change", "UPDATE mirror_change SET applied_at = now()", "VACUUM mirror_change")
    append(MANY)


def of_one_row() -> None:
    """Analyze the outbox with changes of a single row, then append others."""
    append(0, key="'hot'")
    run("ANALYZE mirror_change", "UPDATE mirror_change SET applied_at = now()")
    append(MANY)


def read_rows(work: Callable[[], object]) -> int:
    """Return the number of the outbox's rows that ``work`` reads, and roll it back."""
    with transaction.atomic():
        before = _rows_read()
        work()
        rows = _rows_read() - before
        transaction.set_rollback(True)
    return rows


def _rows_read() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'mirror_change'"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize("state", [at_rest, with_much_pending, long_drained, of_one_row])
def test_statements_of_a_drain_read_no_more_rows_than_they_need(state: Callable[[], None]) -> None:
    state()
    keys = [str(MANY + n) for n in range(0, MANY, MANY // BATCH)]
    ids = list(Change.objects.pending().filter(key__in=keys).values_list("id", flat=True))
    middle = ids[BATCH // 2]
    statements: dict[str, tuple[int, Callable[[], object]]] = {
        "the keys that come next": (BATCH, lambda: changes.next_keys(middle, BATCH)),
        "changes of one key": (1, lambda: changes.pending_of("titem", keys[:1])),
        "changes of many keys": (BATCH, lambda: changes.pending_of("titem", keys)),
        "changes of any key": (0, lambda: changes.pending_at_all("tgroup", BATCH)),
        "which of these": (BATCH, lambda: changes.pending_among([("titem", "", key) for key in keys])),
        "those of a strict mirror": (BATCH, lambda: changes.pending_of_mirrors(["titem"], BATCH)),
        "those of a mirror without any": (0, lambda: changes.pending_of_mirrors(["tgroup"], BATCH)),
        "those that are quarantined": (0, lambda: changes.quarantined(BATCH)),
        "marking": (BATCH, lambda: changes.mark_applied(ids, "me")),
        "writing anew": (BATCH, lambda: changes.mark_incomplete(ids)),
        "a failure": (2, lambda: changes.failed("titem", keys[0], "no")),
        "the newest": (1, changes.newest_unapplied),
        "those that readers wait for": (changes.MUCH + 1, changes.awaited),
        "whether old ones are left": (0, lambda: changes.is_unapplied_up_to(0)),
    }
    read = {name: read_rows(work) for name, (_, work) in statements.items()}
    assert {name: rows for name, rows in read.items() if rows > statements[name][0] + SLACK} == {}


def test_purge_reads_only_the_rows_that_it_deletes() -> None:
    append(0, applied=True)
    append(MANY)
    run("UPDATE mirror_change SET applied_at = '2020-01-01' WHERE applied_at IS NOT NULL", "ANALYZE mirror_change")
    assert (
        read_rows(lambda: changes.purge(below=10**9)) <= 2 * changes.PURGE + SLACK
    )  # once to find them, once to delete them
