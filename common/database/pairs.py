"""Query SQL for many pairs of ids at once. One condition for each pair would overburden the planner."""

from collections.abc import Sequence
from typing import Any

from django.db import connections

from common.ids import parse_ids
from mirror.conf import setting
from mirror.utils import arrays

Pair = tuple[int, int]


def parse_pairs(keys: Sequence[str]) -> list[Pair]:
    """Return keys of the form "5:7" as pairs of numbers, without invalid ones."""
    return [(found[0], found[1]) for key in keys if len(found := parse_ids(key.split(":"))) == 2]


def query_pairs(sql: str, pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    """Return the rows of ``sql``, in which ``k`` is a table of these pairs with the columns ``a`` and ``b``."""
    if not pairs:
        return []
    source, values = arrays.make_table({"a": "bigint", "b": "bigint"}, pairs)
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(f"WITH k AS MATERIALIZED (SELECT * FROM {source}) {sql}", values)
        return cursor.fetchall()
