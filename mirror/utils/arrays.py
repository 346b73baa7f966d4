"""Arrays of values in SQL: one statement with one parameter, or one for each column, for any number of rows.

PostgreSQL receives arrays, and SQLite JSON. These functions are the only place that knows the difference.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from mirror.conf import setting

__all__ = ["Source", "byte_collation", "join_found", "list_values", "make_table", "match_any"]
Source = tuple[str, list[Any]]  # SQL for a FROM clause, and its parameters


def _get_connection() -> BaseDatabaseWrapper:
    return connections[setting("DATABASE")]


def _is_postgres() -> bool:
    return _get_connection().vendor == "postgresql"


def _to_json(values: Any) -> str:
    return json.dumps(values, default=_get_connection().ops.adapt_datetimefield_value)


def make_table(types: Mapping[str, str], rows: Iterable[Sequence[Any]], name: str = "given") -> Source:
    """Return a table of these rows, in their order. types: the columns with their types on PostgreSQL.

    An INSERT ... SELECT from it with ON CONFLICT needs a WHERE clause, or SQLite parses ON as a join's condition.
    """
    if _is_postgres():
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        if not columns:  # there are no rows
            columns = [()] * len(types)
        arrays = ", ".join(f"%s::{kind}[]" for kind in types.values())
        return f"unnest({arrays}) AS {name} ({', '.join(types)})", list(map(write_array, columns))
    parts = ", ".join(f"json_extract(value, '$[{number}]') AS {column}" for number, column in enumerate(types))
    return f"(SELECT {parts} FROM json_each(%s)) AS {name}", [_to_json(list(rows))]


def write_array(values: Iterable[Any]) -> str:
    """Return a one-dimensional array as PostgreSQL reads it. psycopg needs four times as long."""
    quoted = ",".join(map(_quote, values))
    return f"{{{quoted}}}"


def _quote(value: Any) -> str:
    if type(value) is int:
        return str(value)
    if value is None:
        return "NULL"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def list_values(values: Iterable[Any], kind: str, name: str = "k") -> Source:
    """Return a table of these values in the column ``value``. kind: their type on PostgreSQL."""
    if _is_postgres():
        return f"unnest(%s::{kind}[]) AS {name} (value)", [write_array(values)]
    return f"json_each(%s) AS {name}", [_to_json(list(values))]


def match_any(values: Iterable[Any], kind: str = "bigint") -> Source:
    """Return the end of a condition, after a column, that it has one of these values, and its parameters.

    A subquery makes PostgreSQL use the index. It knows the length of a list, and would compare it row by row while
    its statistics do not show that a table has grown: 60,000 ids of the outbox took 40 s instead of 0.05 s.
    """
    listed = list(values)
    if len(listed) == 1:
        return "= %s", listed
    if _is_postgres():
        return f"= ANY(ARRAY(SELECT unnest(%s::{kind}[])))", [write_array(listed)]
    return "IN (SELECT value FROM json_each(%s))", [_to_json(listed)]


def join_found(table: str, found: str, name: str) -> str:
    """Return a join of each row with the rows of ``table`` that ``found`` selects for it, under ``name``.

    found: "FROM table AS p WHERE ..." with a LIMIT; it may use columns of the tables before the join. SQLite has no
    LATERAL, so it looks the ids up one by one.
    """
    if _is_postgres():
        return f"CROSS JOIN LATERAL (SELECT p.* {found}) AS {name}"
    return f"CROSS JOIN {table} AS {name} ON {name}.id IN (SELECT p.id {found})"


def byte_collation() -> str:
    """Return the name of the collation that compares texts by their bytes."""
    return "C" if _is_postgres() else "BINARY"
