"""Compare draining a backlog with outdated statistics on PostgreSQL with draining it after ANALYZE."""

from collections.abc import Iterator

from django.db import connection

from mirror.relay import drains
from tests.bench.table import Comparison

APPLIED = 20_000  # changes in the outbox at the time of VACUUM
SIZES = (5_000, 20_000, 80_000, 200_000)


def comparisons() -> Iterator[Comparison]:
    """Yield one comparison per size, on PostgreSQL only, because SQLite has no such statistics."""
    if connection.vendor != "postgresql":
        return
    for size in SIZES:
        yield Comparison(
            f"draining {size:,} changes after VACUUM ANALYZE with nothing pending",
            "after ANALYZE, which is measured as well",
            f"{APPLIED:,} applied changes",
            ours=drains.drain_all,
            theirs=_analyze_and_drain,
            target=0.7,
            before=lambda size=size: _fill(size),  # type: ignore[misc]
        )
    _run("DELETE FROM mirror_change", "VACUUM FULL mirror_change")


def _analyze_and_drain() -> None:
    _run("ANALYZE mirror_change")
    drains.drain_all()


def _fill(size: int) -> None:
    """Make ``size`` changes pending in an outbox that had none. The tags that they name do not exist."""
    _run(
        "ALTER TABLE mirror_change SET (autovacuum_enabled = off)",
        "DELETE FROM mirror_change",
        "VACUUM FULL mirror_change",
        _insert(APPLIED, "now()"),
        "VACUUM ANALYZE mirror_change",
        _insert(size, "NULL"),
    )


def _insert(count: int, applied_at: str) -> str:
    return (
        "INSERT INTO mirror_change (mirror, key, applied_at)"
        f" SELECT 'tag', (-n)::text, {applied_at} FROM generate_series(1, {count}) AS n"
    )


def _run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
