"""Lock waits in PostgreSQL."""

from django.db import connection


def has_lock_wait() -> bool:
    """Return whether any transaction in this worker's database waits for a lock."""
    return count_lock_waits() > 0


def count_waits_behind() -> int:
    """Return the number of sessions that wait for this one, directly or behind another one of them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "WITH RECURSIVE behind(pid) AS (SELECT pg_backend_pid() UNION SELECT a.pid FROM behind"
            " JOIN pg_stat_activity a ON behind.pid = ANY(pg_blocking_pids(a.pid)))"
            " SELECT count(*) - 1 FROM behind"
        )
        return int(cursor.fetchone()[0])


def count_lock_waits() -> int:
    """Return the number of sessions in this worker's database that wait for a lock."""
    with connection.cursor() as cursor:
        # Within a transaction PostgreSQL caches its statistics, and would not show sessions that began later.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE NOT granted AND datname = current_database()"
        )
        return int(cursor.fetchone()[0])
