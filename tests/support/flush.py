"""Empty the test database after a test with real commits.

Django's flush empties all sixty tables and then emits the post-migrate signal, which takes ten times as long as an
average test. This flush empties only tables that have rows, and keeps the tables that only migrations fill.
"""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager

from django.db import connection, transaction
from django.test import TransactionTestCase

KEPT = {"django_migrations", "django_content_type", "auth_permission"}
OUTBOX = "mirror_change"  # emptied last, because triggers fill it

# No foreign keys are checked and no triggers fire, except those of the mirror. DELETE is faster for small tables;
# TRUNCATE gives back the space of large ones.
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
    -- In the role replica a trigger of the outbox looks at the process of each deleted row.
    SET LOCAL session_replication_role = origin;
    IF pg_relation_size('%(outbox)s') > 65536 THEN
        TRUNCATE %(outbox)s;
    ELSE
        DELETE FROM %(outbox)s;
    END IF;
END $$
"""


def install() -> None:
    """Make pytest-django's transactional tests use this flush.

    The connection stays open, because a new one would have to read the whole schema again.
    """
    TransactionTestCase._fixture_teardown = lambda self: empty()  # type: ignore[attr-defined]
    TransactionTestCase._should_reload_connections = lambda self: False  # type: ignore[attr-defined]


def empty() -> None:
    """Delete all rows of the test database except those that its migrations created."""
    if connection.vendor == "postgresql":
        _empty_postgres()
    else:
        _empty_sqlite()


def _empty_postgres() -> None:
    kept = ", ".join(f"'{table}'" for table in sorted(KEPT))
    with connection.cursor() as cursor:
        cursor.execute(_POSTGRES % {"kept": f"ARRAY[{kept}]", "outbox": OUTBOX})
        cursor.execute("DISCARD ALL")  # also resets session variables that a test may have set


def _empty_sqlite() -> None:
    quote = connection.ops.quote_name
    tables = sorted(set(connection.introspection.table_names()) - KEPT, key=lambda name: name == OUTBOX)
    has_rows = (f"SELECT {n} WHERE EXISTS (SELECT 1 FROM {quote(table)})" for n, table in enumerate(tables))
    with connection.constraint_checks_disabled(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(has_rows))
        for n in sorted({n for (n,) in cursor.fetchall()} | {tables.index(OUTBOX)}):
            cursor.execute(f"DELETE FROM {quote(tables[n])}")


@contextmanager
def keep_file_open() -> Generator[None]:
    """Hold the SQLite file open, so that closing a test's last connection does not trigger a checkpoint."""
    if connection.vendor == "postgresql":
        yield
        return
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as held:
        held.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield
