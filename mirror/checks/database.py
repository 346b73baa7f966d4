"""System checks of the database. They run in ``migrate`` and ``check --database``, never in a plain ``check``."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections, transaction

from mirror import registry
from mirror.capture import install, layouts
from mirror.capture.plan import NO_TABLE, own_tables
from mirror.capture.statements import inserts
from mirror.checks.aliases import find_refused_tables
from mirror.conf import setting
from mirror.models import Change
from mirror.outbox.errors import say
from mirror.utils.sql_outages import is_sql_away

MAX_TABLES: Final = 5  # in a message


@register(Tags.database)
def check_triggers(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that every watched table has its triggers. ``migrate`` skips this check, because it installs them."""
    if not _is_checked(databases) or _is_migrate() or find_refused_tables():
        # Without the mirror's own tables, migrate cannot create triggers. Another check reports it.
        return []
    try:
        faults = install.missing()
    except ImproperlyConfigured:
        # The checks of declarations report it.
        return []
    messages: list[CheckMessage] = []
    repaired: list[install.Fault] = []
    for fault in faults:
        if fault.is_lasting:
            messages += _report_lasting(fault)
        else:
            repaired.append(fault)
    if repaired:
        text = f"Changes are not captured as declared: {_list_by_table(repaired)}."
        hint = "Run migrate: it creates the triggers, and schedules rebuilds after missed changes."
        if tables := _list_unmanaged_tables(repaired):
            hint = f"Create {', '.join(tables)} first, because migrate creates no table with managed = False. {hint}"
        messages.append(Error(text, hint=hint, id="mirror.E010"))
    return messages


def _list_unmanaged_tables(faults: Sequence[install.Fault]) -> list[str]:
    """Return the missing tables that Django leaves to others."""
    missing = {fault.table for fault in faults if fault.problem == NO_TABLE}
    unmanaged: set[str] = set()
    for mirror in registry.all_mirrors():
        unmanaged.update(watch.table for watch in mirror.watches if not watch.model._meta.managed)
    return sorted(missing & unmanaged)


def _list_by_table(faults: Sequence[install.Fault]) -> str:
    """Describe the faults of the first tables, because a new site lacks the triggers of all."""
    by_table: dict[str, list[str]] = {}
    for fault in faults:
        # All triggers of a table are usually at fault in the same way.
        text = f"{fault.problem} triggers" if fault.trigger else fault.problem
        by_table.setdefault(fault.table, []).append(text)
    described = [f"{table}: {', '.join(dict.fromkeys(texts))}" for table, texts in by_table.items()]
    if len(described) > MAX_TABLES:
        described[MAX_TABLES:] = [f"and {len(described) - MAX_TABLES} more tables"]
    return "; ".join(described)


def _report_lasting(fault: install.Fault) -> Iterator[CheckMessage]:
    """Yield a message for each mirror that watches a table without a possible trigger."""
    for name in fault.mirrors:
        text = (
            f"Mirror {name!r} watches {fault.table!r}, which {fault.problem}: no trigger can capture all its changes."
        )
        hint = (
            "Watch the tables that have its rows instead: in watches, with Watch(model, via=...) if keys differ. "
            "Unlogged tables: ALTER TABLE ... SET LOGGED."
        )
        yield Error(text, hint=hint, obj=type(registry.get(name)), id="mirror.E026")


@register(Tags.database)
def check_queries(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the database can execute the queries of all declarations: it may lack a lookup or a function.

    ``migrate`` only compiles them, because its migrations may create functions, columns and tables.
    """
    if not _is_checked(databases):
        return []
    messages: list[CheckMessage] = []
    unmigrated = _find_unmigrated()
    for mirror in registry.all_mirrors():
        if not mirror.layout or not mirror.layout.fields:
            # Its own load() makes the queries.
            continue
        is_executed = not _is_migrate() and mirror.name not in unmigrated
        try:
            mirror.layout.try_queries(setting("DATABASE"), is_executed=is_executed)
        except Exception as error:
            if is_sql_away(error):
                raise
            reason = say(error).partition("\n")[0]  # PostgreSQL repeats the statement below
            text = f"The database cannot select the rows of mirror {mirror.name!r}: {reason}."
            hint = "Use another lookup or value in the conditions of where, or create what is missing by a migration."
            messages.append(Error(text, hint=hint, obj=type(mirror), id="mirror.E001"))
    return messages


def _find_unmigrated() -> set[str]:
    """Return the mirrors that watch a table or column which does not exist (yet). Another check reports them."""
    try:
        _, gaps = install.capture_for().survey()
    except ImproperlyConfigured:
        return {mirror.name for mirror in registry.all_mirrors()}
    found: set[str] = set()
    for gap in gaps:
        found.update(gap.mirrors)
    return found


@register(Tags.database)
def check_methods(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Remind of ``version`` if methods were changed since the last ``migrate``, which shows this a last time."""
    if not _is_checked(databases):
        return []
    try:
        changed = layouts.find_changed()
    except DatabaseError:
        # The column does not exist yet.
        return []
    hint = "Increase version if keys, records or entries have changed: the mirror is rebuilt. Then run migrate."
    return [
        Warning(
            f"The methods of mirror {name!r} have changed since the last migrate, but its version has not.",
            hint=hint,
            obj=type(registry.get(name)),
            id="mirror.W014",
        )
        for name in changed
    ]


@register(Tags.database)
def check_connection(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that no write escapes the triggers or the relay because of the connection's configuration."""
    if not _is_checked(databases):
        return []
    connection = connections[setting("DATABASE")]
    if not connection.settings_dict["AUTOCOMMIT"]:
        text = f"AUTOCOMMIT is off in DATABASES[{connection.alias!r}], so the relay could commit nothing."
        hint = "Remove it. Code that commits by hand may call transaction.set_autocommit(False) meanwhile."
        return [Error(text, hint=hint, id="mirror.E027")]
    if connection.vendor == "sqlite":
        return list(_check_sqlite())
    if connection.vendor == "postgresql":
        return list(_check_postgres())
    # Another check refuses such a database.
    return []


def _check_sqlite() -> Iterator[CheckMessage]:
    if _fetch_value("PRAGMA recursive_triggers") != "1":
        text = "SQLite's recursive_triggers is off: rows deleted by REPLACE are not captured."
        hint = 'Put "PRAGMA recursive_triggers=ON" into the init_command of DATABASES\' OPTIONS.'
        yield Error(text, hint=hint, id="mirror.E011")


def _check_postgres() -> Iterator[CheckMessage]:
    level = _fetch_value("SHOW transaction_isolation")
    if level != "read committed":
        text = f"The isolation level is {level!r}, but the relay must see changes committed during its transaction."
        hint = "Leave the isolation level of DATABASES at READ COMMITTED."
        yield Error(text, hint=hint, id="mirror.E012")
    yield from _check_rights()


# PostgreSQL leaves out the rows that row-level security hides, without an error: a drain would remove them, and verify
# would miss nothing.
UNREADABLE: Final = """
    SELECT w.name, current_user
      FROM unnest(%s::text[], %s::text[]) AS w(name, quoted)
      JOIN pg_class c ON c.oid = to_regclass(w.quoted)
     WHERE row_security_active(c.oid) OR NOT has_any_column_privilege(c.oid, 'SELECT')
     ORDER BY w.name
"""


def _check_rights() -> Iterator[CheckMessage]:
    """Check that the role may read all rows, because Redis shows the same ones to all readers."""
    try:
        tables = [*inserts(), *own_tables()]
    except ImproperlyConfigured:
        # Another check reports the declaration.
        return
    connection = connections[setting("DATABASE")]
    with connection.cursor() as cursor:
        cursor.execute(UNREADABLE, [tables, list(map(connection.ops.quote_name, tables))])
        rows = cursor.fetchall()
    if rows:
        (_, role), names = rows[0], ", ".join(name for name, _ in rows)
        text = f"The role {role!r} may not read all rows of {names}."
        hint = (
            "Grant it SELECT. Where row-level security is enabled, the site and the relay need a role with BYPASSRLS, "
            "or the owner of tables without FORCE."
        )
        yield Error(text, hint=hint, id="mirror.E055")


# Tables that exist several times on the search path. A writer with another path writes to another one.
HIDDEN_TABLES: Final = """
    SELECT c.relname, string_agg(n.nspname, ', ' ORDER BY array_position(current_schemas(FALSE), n.nspname))
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = ANY(current_schemas(FALSE))
     WHERE c.relname = ANY(%s::name[]) AND c.relkind IN ('r', 'p')
     GROUP BY c.relname
    HAVING count(*) > 1
     ORDER BY c.relname
"""


@register(Tags.database)
def check_schemas(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the search path of PostgreSQL leads to one set of tables."""
    if not _is_checked(databases) or connections[setting("DATABASE")].vendor != "postgresql":
        return []
    connection = connections[setting("DATABASE")]
    try:
        tables = [*inserts(), Change._meta.db_table]
    except ImproperlyConfigured:
        # Another check reports the declaration.
        return []
    with connection.cursor() as cursor:
        cursor.execute(HIDDEN_TABLES, [tables])
        rows = cursor.fetchall()
    if not rows:
        return []
    found = [f"{table} ({schemas})" for table, schemas in rows]
    text = f"Tables exist in several schemas of the search path, and only the first is mirrored: {'; '.join(found)}."
    hint = 'Let every process use one schema with mirrored tables, and give each schema its own MIRROR["PREFIX"].'
    return [Warning(text, hint=hint, id="mirror.W015")]


def _is_migrate() -> bool:
    return sys.argv[1:2] == ["migrate"]


def _is_checked(databases: Sequence[str] | None) -> bool:
    # Without databases, as in a plain ``check``, no check may open a connection.
    if databases is None:
        return False
    return setting("DATABASE") in databases


def _fetch_value(sql: str) -> str:
    """Return the single value of ``sql``, read inside a transaction like the site's."""
    using = setting("DATABASE")
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute(sql)
        (value,) = cursor.fetchone()
    return str(value)
