"""Lock waits on PostgreSQL."""

from django.db import connection


def somebody_waits() -> bool:
    """Whether a transaction waits for another one in this worker's database."""
    with connection.cursor() as cursor:
        # In a transaction PostgreSQL shows the sessions of the first look, not those that began since.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE NOT granted AND datname = current_database())"
        )
        return bool(cursor.fetchone()[0])
