"""Notices the statements by which requests and transactions write to SQL, on whichever connection of a thread."""

from collections.abc import Callable
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from mirror.conf import setting
from mirror.relay import sql_only, statements


def connect() -> None:
    """Watch the statements of every connection. Repeated calls are harmless."""
    connection_created.connect(_watch_connection, dispatch_uid="mirror.own_writes")
    # Another app may have asked SQL before.
    for connection in connections.all(initialized_only=True):
        _watch_connection(connection)


def _watch_connection(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    # A connection that is opened again has it already.
    if _note_statement not in connection.execute_wrappers:
        # First: a connection may open in a block of ``execute_wrapper``, which removes the last one at its end.
        connection.execute_wrappers.insert(0, _note_statement)


def _note_statement(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    """Execute a statement. If a request or transaction writes by it, note the table."""
    connection = context["connection"]
    if not _is_watched(connection):
        return execute(sql, params, many, context)
    text = _find_text(sql, connection)
    if not statements.may_write(text):
        return execute(sql, params, many, context)
    # Before the statement, so that replies which are read meanwhile count as older than it.
    sql_only.note_write()
    result = execute(sql, params, many, context)
    if statements.wrote_nothing(text, context["cursor"].rowcount):
        return result
    table = statements.find_table(text)
    if table:
        sql_only.note_table(table, connection)
    return result


def _find_text(sql: Any, connection: BaseDatabaseWrapper) -> str:
    """Return a statement as text: psycopg also takes bytes and the objects of its module ``sql``."""
    if isinstance(sql, bytes):
        return sql.decode(errors="replace")
    if hasattr(sql, "as_string"):
        return str(sql.as_string(connection.connection))
    return str(sql)


def _is_watched(connection: BaseDatabaseWrapper) -> bool:
    """Return whether a write on this connection may have to be read before Redis has it."""
    if connection.alias != setting("DATABASE"):
        return False
    return sql_only.in_request() or sql_only.find_transaction(connection) is not None
