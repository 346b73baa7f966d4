"""Query SQL for many pairs of ids at once. One condition for each pair would overburden the planner."""

import json
from collections.abc import Sequence
from typing import Any

from django.db import connections

from mirror.conf import setting

Pair = tuple[int, int]
_PAIRS_BY_VENDOR = {
    "postgresql": "WITH k(a, b) AS (SELECT * FROM unnest(%s::bigint[], %s::bigint[]))",
    "sqlite": "WITH k(a, b) AS MATERIALIZED"
    " (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(%s))",
}


def query_pairs(sql: str, pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    """Return the rows of ``sql``, in which ``k`` is a table of these pairs with the columns ``a`` and ``b``."""
    if not pairs:
        return []
    connection = connections[setting("DATABASE")]
    given: list[Any] = [json.dumps(pairs)]
    if connection.vendor == "postgresql":
        given = [[a for a, _ in pairs], [b for _, b in pairs]]
    with connection.cursor() as cursor:
        cursor.execute(f"{_PAIRS_BY_VENDOR[connection.vendor]} {sql}", given)
        return cursor.fetchall()
