"""Writing many rows in few statements, and only what is not there yet."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Model

from catalog.models import Author, Tag


def ids_of(model: type[Tag | Author], names: Sequence[str]) -> tuple[dict[str, int], int]:
    """From name to primary key, having added the names that were not there; and how many those were.

    Asked for again, because SQLite before 3.35 does not tell the keys of what is inserted.
    """
    rows = model._base_manager.values_list("name", "pk")
    known = dict(rows.filter(name__in=names))
    new = [name for name in names if name not in known]
    if new:
        made: list[Any] = [model.named(name) for name in new]
        model._base_manager.bulk_create(made)
        known |= dict(rows.filter(name__in=new))
    return known, len(new)


_TAG = """
    INSERT INTO catalog_book_tags (book_id, tag_id, imported_count)
    SELECT v.book, v.tag, v.count FROM ({rows}) v
    WHERE NOT EXISTS (SELECT 1 FROM catalog_book_tags l WHERE l.book_id = v.book AND l.tag_id = v.tag)
    ON CONFLICT DO NOTHING
"""
_COUNT = """
    INSERT INTO catalog_book_tags (book_id, tag_id, imported_count)
    SELECT v.book, v.tag, v.count FROM ({rows}) v WHERE true
    ON CONFLICT (book_id, tag_id) DO UPDATE SET imported_count = excluded.imported_count
    WHERE catalog_book_tags.imported_count <> excluded.imported_count
"""
_ROWS = {
    "postgresql": "SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::int[]) AS p(book, tag, count)",
    "sqlite": "SELECT json_extract(value, '$[0]') AS book, json_extract(value, '$[1]') AS tag,"
    " json_extract(value, '$[2]') AS count FROM json_each(%s)",
}


def add_tags(pairs: Iterable[tuple[int, int]]) -> int:
    """Add these pairs of book and tag; returns how many were new. One statement: ten times bulk_create."""
    return _write(_TAG, [(book, tag, 1) for book, tag in pairs])


def add_counted_tags(counts: Mapping[tuple[int, int], int]) -> int:
    """Add these pairs of book and tag with how many readers elsewhere gave them, and set the counts of those that are
    there; returns how many pairs were new.
    """
    rows = [(*pair, count) for pair, count in counts.items()]
    added = _write(_TAG, rows)
    if added < len(rows):
        _write(_COUNT, rows)
    return added


def _write(sql: str, rows: Sequence[tuple[int, int, int]]) -> int:
    """Run a statement for rows of book, tag and count; returns how many it wrote."""
    with connection.cursor() as cursor:
        columns = list(map(list, zip(*rows, strict=True))) or [[], [], []]
        given = columns if connection.vendor == "postgresql" else [json.dumps(rows)]
        cursor.execute(sql.format(rows=_ROWS[connection.vendor]), given)
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
