"""Find books in SQL, which has the facts and answers when Redis cannot.

Redis gives exactly the same answers in the same order (``listing.sorts``). A page continues after a position. Text
sorts by code point on every database, as in Python's ``sorted``.
"""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

from django.db import connections
from django.db.models import Count, F, Q, QuerySet
from django.db.models.expressions import OrderBy

from catalog.listing import sorts
from catalog.listing.filters import Narrowing
from catalog.models import Book, Tagging
from catalog.query import And, Node, Not, Tag, find_terms, normalise_query
from catalog.values import languages
from mirror.conf import database
from mirror.utils import arrays

Position = tuple[Any, int]  # key, id


def filter_books(node: Node | None, narrowings: Sequence[Narrowing] = ()) -> QuerySet[Book]:
    """Return the books that satisfy ``node`` (None: all books) and every narrowing, in no particular order."""
    books = Book.objects.using(database()).order_by()
    conditions = [narrowing.condition for narrowing in narrowings]
    if node:
        conditions.insert(0, _build_condition(normalise_query(node)))
    return books.filter(*conditions)


def _build_condition(node: Node) -> Q:
    if isinstance(node, Tag):
        return _build_any_tag_condition([node])
    if isinstance(node, Not):
        return ~_build_condition(node.part)
    if isinstance(node, And):
        return reduce(and_, map(_build_condition, node.parts))
    tags = [part for part in node.parts if isinstance(part, Tag)]
    others = [_build_condition(part) for part in node.parts if not isinstance(part, Tag)]
    # One condition for all tags of an OR, so that SQL reads the links once.
    if tags:
        others.insert(0, _build_any_tag_condition(tags))
    return reduce(or_, others)


def _build_any_tag_condition(tags: Sequence[Tag]) -> Q:
    links = Tagging._base_manager.filter(tag__name__in=[tag.name for tag in tags])
    return Q(pk__in=links.values("book_id"))


def count_books(node: Node | None, narrowings: Sequence[Narrowing] = ()) -> int:
    """Return the number of books that satisfy ``node`` and every narrowing."""
    return filter_books(node, narrowings).count()


def count_languages(limit: int) -> list[tuple[str, int]]:
    """Return the most frequent languages with their numbers of books, most frequent first, then by code."""
    rows = Book.objects.using(database()).exclude(language="").order_by().values_list("language")
    counts: Counter[str] = Counter()
    for code, books in rows.annotate(books=Count("pk")):
        counts[languages.normalise_code(code)] += books
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]


# Group by id before joining the names: grouping by name would compare hundreds of thousands of names.
_SELECT_FACETS = """
    SELECT t.name, c.books
    FROM (SELECT l.tag_id, COUNT(*) AS books FROM catalog_book_tags l {where} GROUP BY l.tag_id) c
    JOIN catalog_tag t ON t.id = c.tag_id AND NOT t.hidden
    ORDER BY c.books DESC, t.name COLLATE "{collation}"
    LIMIT %s
"""


def find_facets(node: Node | None, limit: int = 20, narrowings: Sequence[Narrowing] = ()) -> list[tuple[str, int]]:
    """Return the most frequent tags of the results with their numbers of books, most frequent first, then by name.

    The query's own tags are left out.
    """
    connection = connections[database()]
    named = find_terms(node) if node else frozenset()
    where, parameters = "", []
    if node or narrowings:
        ids = filter_books(node, narrowings).values("pk")
        inner, parameters = ids.query.get_compiler(connection=connection).as_sql()
        where = f"WHERE l.book_id IN ({inner})"
    with connection.cursor() as cursor:
        # Read a few more rows, because the query's own tags may be among them.
        sql = _SELECT_FACETS.format(where=where, collation=arrays.byte_collation())
        cursor.execute(sql, [*parameters, limit + len(named)])
        return [(name, books) for name, books in cursor.fetchall() if name not in named][:limit]


def find_page(
    node: Node | None, order: str, after: Position | None, limit: int, narrowings: Sequence[Narrowing] = ()
) -> list[Position]:
    """Return the positions of the next ``limit`` results. The position ``after`` need not belong to a book."""
    sort = sorts.get_sort(order)
    books = filter_books(node, narrowings).annotate(key=sort.expression())
    if after is not None:
        books = books.filter(_build_after_condition(sort, *after))
    by_id = "-pk" if sort.is_reversed else "pk"
    found = books.order_by(_build_key_ordering(sort), by_id).values_list("key", "pk")[:limit]
    return [(_convert_key(key), pk) for key, pk in found]


def _convert_key(key: Any) -> Any:
    """Return the key of an order as Redis and cursors have it."""
    return float(key) if isinstance(key, Decimal) else key


def _build_key_ordering(sort: sorts.Sort) -> OrderBy:
    """Sort missing keys last. NULLS LAST appears only where keys may be missing, as not every index supports it."""
    if sort.is_descending != sort.is_reversed:
        # None, because Django refuses False.
        return F("key").desc(nulls_last=None if sort.is_text else True)
    has_gaps = sort.is_partial or sort.is_reversed
    return F("key").asc(nulls_last=True if has_gaps else None)


def _build_after_condition(sort: sorts.Sort, key: Any, pk: int) -> Q:
    later_id = Q(pk__lt=pk) if sort.is_reversed else Q(pk__gt=pk)
    if key is None:
        return Q(key__isnull=True) & later_id
    beyond = Q(key__lt=key) if sort.is_descending != sort.is_reversed else Q(key__gt=key)
    found = (Q(key=key) & later_id) | beyond
    return found if sort.is_text else found | Q(key__isnull=True)
