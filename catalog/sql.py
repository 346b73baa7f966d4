"""Finding books by SQL: what is true, and what answers when Redis cannot.

The way through Redis gives exactly the same answers in the same order (``catalog.sorts``); a page goes on after a
position. Text sorts by code point on every database, as Python's ``sorted`` does.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

from django.db import connections
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import OrderBy

from catalog import sorts
from catalog.models import Book
from catalog.query import And, Node, Not, Tag, normal, terms
from catalog.records import book_records
from mirror.conf import setting

__all__ = ["Position", "book_records", "count", "facets", "matching", "page"]

Position = tuple[Any, int]  # key, id

Links = Book.tags.through


def matching(node: Node | None) -> QuerySet[Book]:
    """The books that satisfy ``node`` (None: all), in no particular order."""
    books = Book.objects.using(setting("DATABASE")).order_by()
    return books.filter(_condition(normal(node))) if node else books


def _condition(node: Node) -> Q:
    if isinstance(node, Tag):
        return _any_of([node])
    if isinstance(node, Not):
        return ~_condition(node.part)
    if isinstance(node, And):
        return reduce(and_, map(_condition, node.parts))
    tags = [part for part in node.parts if isinstance(part, Tag)]
    others = [_condition(part) for part in node.parts if not isinstance(part, Tag)]
    return reduce(or_, [_any_of(tags), *others] if tags else others)


def _any_of(tags: Sequence[Tag]) -> Q:
    links = Links._base_manager.filter(tag__name__in=[tag.name for tag in tags])
    return Q(pk__in=links.values("book_id"))


def count(node: Node | None) -> int:
    """How many books satisfy ``node``."""
    return matching(node).count()


# Counted by number first: to group by name, hundreds of thousands of names would be compared.
_FACETS = """
    SELECT t.name, c.books
    FROM (SELECT l.tag_id, COUNT(*) AS books FROM catalog_book_tags l {where} GROUP BY l.tag_id) c
    JOIN catalog_tag t ON t.id = c.tag_id
    ORDER BY c.books DESC, t.name {collation}
    LIMIT %s
"""


def facets(node: Node | None, limit: int = 20) -> list[tuple[str, int]]:
    """The tags that most of the results have, with how many: most first, then by name.

    Tags that the query names are left out.
    """
    connection = connections[setting("DATABASE")]
    named = terms(node) if node else frozenset()
    where, parameters = "", []
    if node:
        inner, parameters = matching(node).values("pk").query.get_compiler(connection=connection).as_sql()
        where = f"WHERE l.book_id IN ({inner})"
    collation = 'COLLATE "C"' if connection.vendor == "postgresql" else "COLLATE BINARY"
    with connection.cursor() as cursor:
        # A few more than wanted: there may be the query's own tags among them.
        sql = _FACETS.format(where=where, collation=collation)
        cursor.execute(sql, [*parameters, limit + len(named)])
        return [(name, books) for name, books in cursor.fetchall() if name not in named][:limit]


def page(node: Node | None, order: str, after: Position | None, limit: int) -> list[Position]:
    """The positions of the next ``limit`` results; ``after`` may be any position, also of no book."""
    sort = sorts.get(order)
    books = matching(node).annotate(key=sort.expression())
    if after is not None:
        books = books.filter(_after(sort, *after))
    return list(books.order_by(_first(sort), "pk").values_list("key", "pk")[:limit])


def _first(sort: sorts.Sort) -> OrderBy:
    """What has no key is last; said only where there may be such, for not every index can be walked like that."""
    if sort.is_descending:
        return F("key").desc(nulls_last=True)
    return F("key").asc(nulls_last=True if sort.is_partial else None)


def _after(sort: sorts.Sort, key: Any, pk: int) -> Q:
    if key is None:
        return Q(key__isnull=True, pk__gt=pk)
    same = Q(key=key, pk__gt=pk)
    if sort.is_text:
        return same | Q(key__gt=key)
    return same | (Q(key__lt=key) if sort.is_descending else Q(key__gt=key)) | Q(key__isnull=True)
