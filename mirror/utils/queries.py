"""Queries that cost little: compiled once, and several in one round trip."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Expression, RawSQL

from mirror.utils.arrays import write_array

Row = Sequence[Any]
KEYS: Final = "\0keys"  # stands for the keys among the parameters


class Query(NamedTuple):
    """A statement and its parameters. Without SQL it has no rows."""

    sql: str
    values: list[Any]


def can_combine(using: str) -> bool:
    """Return whether this database executes several statements in one round trip."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return False
    from django.db.backends.postgresql.psycopg_any import is_psycopg3

    # psycopg 2 returns only the last result, and statements with parameters on the server are sent one by one.
    return bool(is_psycopg3) and not getattr(connection.features, "uses_server_side_binding", False)


def fetch_all(queries: Sequence[Query], using: str) -> list[list[Row]]:
    """Execute queries in their order, and return the rows of each.

    Each sees what was committed before it begins, as separate statements do. With a stricter isolation level they may
    all see what the first one sees.
    """
    found: list[list[Row]] = []
    executed = [query for query in queries if query.sql]
    if executed:
        connection = connections[using]
        found = _fetch_combined(connection, executed) if can_combine(using) else _fetch_each(connection, executed)
    results = iter(found)
    return [next(results) if query.sql else [] for query in queries]


def _fetch_combined(connection: BaseDatabaseWrapper, queries: Sequence[Query]) -> list[list[Row]]:
    values: list[Any] = []
    for query in queries:
        values += query.values
    with connection.cursor() as cursor:
        cursor.execute("; ".join(query.sql for query in queries), values)
        found: list[list[Row]] = [cursor.fetchall()]
        while cursor.nextset():
            found.append(cursor.fetchall())
    return found


def _fetch_each(connection: BaseDatabaseWrapper, queries: Sequence[Query]) -> list[list[Row]]:
    found: list[list[Row]] = []
    with connection.cursor() as cursor:
        for query in queries:
            cursor.execute(*query)
            found.append(cursor.fetchall())
    return found


class Keys(RawSQL):
    """The right-hand side of a comparison with keys.

    Django looks for names of inherited columns in a ``RawSQL``, for which it joins the parents' tables. It fails for a
    parent with a field that has no column (a ``ForeignObject``).
    """

    def resolve_expression(self, *args: Any, **kwargs: Any) -> Any:
        return Expression.resolve_expression(self, *args, **kwargs)


class _Compiled(NamedTuple):
    sql: str
    parameters: Sequence[Any]
    convert: Callable[[Iterable[Any]], Iterable[Sequence[Any]]]


class KeyedQuery:
    """A query of the ORM whose condition compares ``field`` with given keys, and which is compiled once.

    Django compiles each query again. build: returns the query, given the right-hand side of ``__in``. Everything else
    in it is constant.
    """

    def __init__(self, field: "models.Field[Any, Any]", build: Callable[[Keys], "models.QuerySet[Any, Any]"]) -> None:
        self.field = field
        self.build = build

    def prepare(self, keys: Iterable[Any], using: str) -> list[Any]:
        """Return keys as the database has them."""
        connection = connections[using]
        return [self.field.get_db_prep_value(key, connection) for key in keys]

    def write(self, values: Sequence[Any], using: str) -> Query:
        """Return the statement for prepared keys; without SQL if it can have no rows."""
        connection = connections[using]
        if not values:
            return Query("", [])
        compiled = self._compile_once(connection, is_single=len(values) == 1)
        given: Any = values
        if len(values) == 1:
            (given,) = values
        elif connection.vendor != "postgresql":
            given = json.dumps(values)
        elif all(type(value) is int for value in values):
            given = write_array(values)
        return Query(compiled.sql, [given if parameter is KEYS else parameter for parameter in compiled.parameters])

    def convert(self, rows: Sequence[Row], using: str) -> Iterable[Row]:
        """Return fetched rows with their values as Python has them."""
        if not rows:
            return rows
        return self._compile_once(connections[using], is_single=True).convert(rows)

    def _compile_once(self, connection: Any, *, is_single: bool) -> _Compiled:
        # On the connection, because the SQL depends on its server.
        known: dict[tuple[KeyedQuery, bool], _Compiled] = connection.__dict__.setdefault("mirror_queries", {})
        if (self, is_single) not in known:
            known[self, is_single] = self._compile_query(connection, is_single)
        return known[self, is_single]

    def _compile_query(self, connection: Any, is_single: bool) -> _Compiled:
        keys = "SELECT value FROM json_each(%s)"
        if is_single:
            # PostgreSQL plans the comparison with one value in half the time.
            keys = "%s"
        elif connection.vendor == "postgresql":
            kind = self.field.rel_db_type(connection)
            keys = f"SELECT unnest(%s::{kind}[])"
        compiler = self.build(Keys(keys, [KEYS])).query.get_compiler(connection=connection)
        try:
            sql, parameters = compiler.as_sql()
        except EmptyResultSet:  # a constant condition excludes all rows
            return _Compiled("", (), iter)
        converters = compiler.get_converters([column for column, _, _ in compiler.select])

        def convert(rows: Iterable[Any]) -> Iterable[Sequence[Any]]:
            return compiler.apply_converters(rows, converters) if converters else rows

        return _Compiled(sql, parameters, convert)
