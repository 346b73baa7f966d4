"""Emptying the test database after a test whose commits were real.

Django's own flush empties all of sixty tables, and then does what follows a migration: ten times what the test took.
This one empties those that have rows, and leaves alone what only a migration writes.
"""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager

from django.db import connection, transaction
from django.test import TransactionTestCase

KEPT = {"django_migrations", "django_content_type", "auth_permission"}
OUTBOX = "mirror_change"  # emptied last: triggers fill it

# Without foreign keys, and no triggers but the mirror's. Small tables are deleted from, which is quicker; large ones
# are truncated, or they would stay large.
_POSTGRES = """
DO $$
DECLARE
    written record;
    grown text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR written IN
        SELECT format('%%I', relname) AS name, pg_relation_size(oid) AS bytes FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> ALL (%(kept)s)
            AND pg_relation_size(oid) > 0 AND relname <> '%(outbox)s'
    LOOP
        IF written.bytes > 65536 THEN
            grown := concat_ws(', ', grown, written.name);
        ELSE
            EXECUTE 'DELETE FROM ' || written.name;
        END IF;
    END LOOP;
    IF grown IS NOT NULL THEN
        EXECUTE 'TRUNCATE ' || grown || ' CASCADE';
    END IF;
    IF pg_relation_size('%(outbox)s') > 65536 THEN
        TRUNCATE %(outbox)s;
    ELSE
        DELETE FROM %(outbox)s;
    END IF;
END $$
"""


def install() -> None:
    """Have pytest-django's transactional tests cleaned up after in this way.

    On PostgreSQL the connection stays: a new one has to learn all tables anew.
    """
    TransactionTestCase._fixture_teardown = lambda self: empty()  # type: ignore[attr-defined]
    TransactionTestCase._should_reload_connections = (  # type: ignore[attr-defined]
        lambda self: connection.vendor == "sqlite"
    )


def empty() -> None:
    """Take all rows out of the test database, but for those that its migrations made."""
    if connection.vendor == "postgresql":
        _empty_postgres()
    else:
        _empty_sqlite()


def _empty_postgres() -> None:
    kept = ", ".join(f"'{table}'" for table in sorted(KEPT))
    with connection.cursor() as cursor:
        cursor.execute(_POSTGRES % {"kept": f"ARRAY[{kept}]", "outbox": OUTBOX})
        cursor.execute("DISCARD ALL")  # what a test set for its session


def _empty_sqlite() -> None:
    quote = connection.ops.quote_name
    tables = sorted(set(connection.introspection.table_names()) - KEPT, key=lambda name: name == OUTBOX)
    has_rows = (f"SELECT {n} WHERE EXISTS (SELECT 1 FROM {quote(table)})" for n, table in enumerate(tables))
    with connection.constraint_checks_disabled(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(has_rows))
        for n in sorted({n for (n,) in cursor.fetchall()} | {tables.index(OUTBOX)}):
            cursor.execute(f"DELETE FROM {quote(tables[n])}")


@contextmanager
def kept_open() -> Generator[None]:
    """While somebody has SQLite's file open, the last of a test's connections need not tidy it up as it closes."""
    if connection.vendor == "postgresql":
        yield
        return
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as held:
        held.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield
