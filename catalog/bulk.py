"""Writing many rows in few statements, and only what is not there yet."""

import json
from collections.abc import Iterable, Sequence

from django.db import connection
from django.db.models import Model


def ids_of(model: type[Model], names: Sequence[str]) -> tuple[dict[str, int], int]:
    """From name to primary key, having added the names that were not there; and how many those were.

    Asked for again, because SQLite before 3.35 does not tell the keys of what is inserted.
    """
    rows = model._base_manager.values_list("name", "pk")
    known = dict(rows.filter(name__in=names))
    new = [name for name in names if name not in known]
    if new:
        model._base_manager.bulk_create(model(name=name) for name in new)
        known |= dict(rows.filter(name__in=new))
    return known, len(new)


_TAG = """
    INSERT INTO catalog_book_tags (book_id, tag_id)
    SELECT v.book, v.tag FROM ({pairs}) v
    WHERE NOT EXISTS (SELECT 1 FROM catalog_book_tags l WHERE l.book_id = v.book AND l.tag_id = v.tag)
    ON CONFLICT DO NOTHING
"""


def add_tags(pairs: Iterable[tuple[int, int]]) -> int:
    """Add these pairs of book and tag; returns how many were new. One statement: ten times bulk_create."""
    books, tags = [list(ids) for ids in zip(*pairs, strict=True)] or ([], [])
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            sql = _TAG.format(pairs="SELECT * FROM unnest(%s::bigint[], %s::bigint[]) AS p(book, tag)")
            cursor.execute(sql, [books, tags])
        else:
            each = "SELECT json_extract(value, '$[0]') AS book, json_extract(value, '$[1]') AS tag FROM json_each(%s)"
            cursor.execute(_TAG.format(pairs=each), [json.dumps(list(zip(books, tags, strict=True)))])
        return int(cursor.rowcount)


def update_statistics(models: Iterable[type[Model]]) -> None:
    """Have PostgreSQL count these models' tables anew, which it does by itself only within a minute.

    A planner that believes a table empty that was just filled joins by nested loops over all of it: minutes
    instead of milliseconds. Vacuumed as well (where no transaction forbids it), so that the links are read from
    their index alone.
    """
    if connection.vendor == "postgresql":
        tables = ", ".join(connection.ops.quote_name(model._meta.db_table) for model in models)
        with connection.cursor() as cursor:
            cursor.execute(f"{'ANALYZE' if connection.in_atomic_block else 'VACUUM (ANALYZE)'} {tables}")
