"""Query SQL for many pairs of ids at once. One condition for each pair would overburden the planner."""

from collections.abc import Sequence
from typing import Any

from django.db import connections
from django.db.models import Q, QuerySet

from common.ids import parse_ids
from mirror.conf import setting
from mirror.utils import arrays

Pair = tuple[int, int]


def parse_pairs(keys: Sequence[str]) -> list[Pair]:
    """Return keys of the form "5:7" as pairs of numbers, without invalid ones."""
    return [(found[0], found[1]) for key in keys if len(found := parse_ids(key.split(":"))) == 2]


def list_next(rows: QuerySet[Any], first: str, second: str, after: str | None, limit: int) -> list[str]:
    """Return the keys of ``find_next``."""
    return [f"{a}:{b}" for a, b in find_next(rows, first, second, after, limit)]


def find_next(rows: QuerySet[Any], first: str, second: str, after: str | None, limit: int) -> list[Pair]:
    """Return the next ``limit`` values of two columns after the key ``after``, ordered by them."""
    for a, b in parse_pairs([after] if after is not None else []):
        beyond = Q(**{f"{first}__gt": a}) | Q(**{f"{second}__gt": b})
        # Databases find the start in an index only by a condition that is no alternative of another.
        rows = rows.filter(beyond, **{f"{first}__gte": a})
    return list(rows.order_by(first, second).values_list(first, second)[:limit])


def query_pairs(sql: str, pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    """Return the rows of ``sql``, in which ``k`` is a table of these pairs with the columns ``a`` and ``b``."""
    if not pairs:
        return []
    source, values = arrays.make_table({"a": "bigint", "b": "bigint"}, pairs)
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(f"WITH k AS MATERIALIZED (SELECT * FROM {source}) {sql}", values)
        return cursor.fetchall()
