"""Lock waits in PostgreSQL."""

from django.db import connection


def has_lock_wait() -> bool:
    """Return whether any transaction in this worker's database waits for a lock."""
    return count_lock_waits() > 0


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
