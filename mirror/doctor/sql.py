"""The doctor's findings about SQL."""

from collections.abc import Iterator
from typing import Final

from django.core.checks import CheckMessage, Error, Warning
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

from mirror import checks, registry
from mirror.capture import layouts
from mirror.conf import setting
from mirror.doctor.words import say
from mirror.standalone import notices

NO_SQL: Final = "mirror.E035"
NOT_MIGRATED: Final = "mirror.E040"


def check_sql() -> list[CheckMessage]:
    using = setting("DATABASE")
    try:
        unapplied = _find_unapplied(using)
        if unapplied:
            text = f"Migrations are not applied: {', '.join(unapplied)}."
            return [Error(text, hint="Run `manage.py migrate`.", id=NOT_MIGRATED)]
        found: list[CheckMessage] = []
        for check in (checks.check_triggers, checks.check_connection, checks.check_methods, checks.check_schemas):
            found += check(databases=[using])
        found += _check_layouts()
        found += _check_pooler(using)
        found += _check_notices(using)
        return found
    except DatabaseError as error:
        hint = f"Start the server, or correct {say('DATABASES')}. Only warm mirrors answer reads meanwhile."
        return [Error(f"SQL does not answer: {error}", hint=hint, id=NO_SQL)]


def _find_unapplied(using: str) -> list[str]:
    executor = MigrationExecutor(connections[using])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def _check_layouts() -> Iterator[CheckMessage]:
    for name, recorded in layouts.find_outdated().items():
        text = f"This code has layout {registry.get(name).version} of mirror {name!r}, but SQL has layout {recorded}."
        hint = "Deploy the newer code, or run `manage.py migrate` if this code is the newer one."
        yield Error(text, hint=hint, id="mirror.E041")


def _check_pooler(using: str) -> Iterator[CheckMessage]:
    """Look for a pooler in transaction mode."""
    connection = connections[using]
    if connection.vendor != "postgresql" or connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        return
    # Such a pooler gives the session of an idle connection to another one. The transaction of another connection keeps
    # a session: the one that was free last, which is that of this connection.
    before = _ask_session(connection)
    other = connection.copy()
    try:
        other.set_autocommit(False)
        _ask_session(other)
        after = _ask_session(connection)
    finally:
        other.close()
    if before != after:
        text = "Statements of one connection run in several sessions: a pooler in transaction mode."
        hint = "Set DISABLE_SERVER_SIDE_CURSORS to True in DATABASES, or use the pooler in session mode."
        yield Warning(text, hint=hint, id="mirror.W036")


def _check_notices(using: str) -> Iterator[CheckMessage]:
    if connections[using].vendor != "postgresql":
        return
    reason = notices.explain_polling()
    if reason:
        text = f"`mirror run` only polls for changes, every {setting('RUN_POLL_SECONDS'):g} s: {reason}."
        hint = "Nothing is lost. Notifications need psycopg 3, no pooler, and max_prepared_transactions = 0."
        yield Warning(text, hint=hint, id="mirror.W042")


def _ask_session(connection: BaseDatabaseWrapper) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])
