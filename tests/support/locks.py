"""Who waits for whom, on PostgreSQL."""

from django.db import connection


def somebody_waits() -> bool:
    """Whether a transaction waits for another, in this test's database: those of others, beside it, have theirs."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE NOT granted AND datname = current_database())"
        )
        return bool(cursor.fetchone()[0])
