"""Query SQL for many pairs of ids at once. One condition for each pair would overburden the planner."""

from collections.abc import Sequence
from typing import Any

from django.db import connections

from mirror.conf import setting
from mirror.utils import arrays

Pair = tuple[int, int]


def query_pairs(sql: str, pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    """Return the rows of ``sql``, in which ``k`` is a table of these pairs with the columns ``a`` and ``b``."""
    if not pairs:
        return []
    source, values = arrays.make_table({"a": "bigint", "b": "bigint"}, pairs)
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(f"WITH k AS MATERIALIZED (SELECT * FROM {source}) {sql}", values)
        return cursor.fetchall()
