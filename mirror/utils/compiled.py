"""Queries of the ORM for rows with given keys, which are compiled once. Django compiles each query anew."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connections, models
from django.db.models.expressions import Expression, RawSQL

KEYS: Final = "\0keys"  # stands for the keys among the parameters


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
    """A query whose condition compares ``field`` with given keys.

    build: returns the query for values, given the right-hand side of ``__in``. Everything else in it is constant.
    """

    def __init__(self, field: "models.Field[Any, Any]", build: Callable[[Keys], "models.QuerySet[Any, Any]"]) -> None:
        self.field = field
        self.build = build

    def fetch(self, keys: Iterable[Any], using: str) -> Iterable[Sequence[Any]]:
        """Run the query for these keys. Return its rows."""
        connection = connections[using]
        # On the connection, because the SQL depends on its server.
        known: dict[KeyedQuery, _Compiled] = connection.__dict__.setdefault("mirror_queries", {})
        if self not in known:
            known[self] = self._compile_query(connection)
        sql, parameters, convert = known[self]
        values: Any = [self.field.get_db_prep_value(key, connection) for key in keys]
        if not sql or not values:
            return []
        given = values if connection.vendor == "postgresql" else json.dumps(values)
        with connection.cursor() as cursor:
            cursor.execute(sql, [given if parameter is KEYS else parameter for parameter in parameters])
            return convert(cursor.fetchall())

    def _compile_query(self, connection: Any) -> _Compiled:
        keys = "SELECT value FROM json_each(%s)"
        if connection.vendor == "postgresql":
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
