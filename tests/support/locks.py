"""Lock waits in PostgreSQL."""

from typing import Final

from django.db import connection

_BEHIND: Final = """
    WITH RECURSIVE behind(pid) AS (
        SELECT pg_backend_pid()
        UNION
        SELECT a.pid FROM behind JOIN pg_stat_activity a ON behind.pid = ANY(pg_blocking_pids(a.pid))
    )
    SELECT count(*) - 1 FROM behind
"""
_WAITING: Final = """
    SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE NOT granted AND datname = current_database()
"""


def has_lock_wait() -> bool:
    """Return whether any transaction in this worker's database waits for a lock."""
    return count_lock_waits() > 0


def count_waits_behind() -> int:
    """Return the number of sessions that wait for this one, directly or behind another one of them."""
    return _count(_BEHIND)


def count_lock_waits() -> int:
    """Return the number of sessions in this worker's database that wait for a lock."""
    return _count(_WAITING)


def _count(query: str) -> int:
    with connection.cursor() as cursor:
        # Within a transaction PostgreSQL caches its statistics, and would not show sessions that began later.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(query)
        return int(cursor.fetchone()[0])
