"""Find books in SQL, which has the facts and answers when Redis cannot.

Redis gives exactly the same answers in the same order (``listing.sorts``). A page continues after a position. Text
sorts by code point on every database, as in Python's ``sorted``.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.expressions import OrderBy

from catalog import query
from catalog.listing import sorts
from catalog.listing.filters import Narrowing
from catalog.models import Book, Tag, Tagging
from catalog.query import And, Node, Not, find_terms, normalise_query
from catalog.values import languages
from mirror.conf import database
from mirror.utils import arrays

Position = tuple[Any, int]  # key, id


def find_tag_ids(node: Node | None) -> dict[str, int]:
    """Return the ids of the query's tags by name, without tags that no book has."""
    if node is None:
        return {}
    used = Exists(Tagging._base_manager.filter(tag=OuterRef("pk")))
    tags = Tag._base_manager.using(database()).filter(used, name__in=find_terms(node))
    return dict(tags.values_list("name", "pk"))


def filter_books(
    node: Node | None, narrowings: Sequence[Narrowing] = (), tag_ids: Mapping[str, int] | None = None
) -> QuerySet[Book]:
    """Return the books that satisfy ``node`` (None: all books) and every narrowing, in no particular order.

    tag_ids: those of ``find_tag_ids``, if the caller has them. The conditions name tags by id: PostgreSQL knows how
    many books have each tag id, and so whether to search a popular tag in the order of the page.
    """
    books = Book.objects.using(database()).order_by()
    conditions = [narrowing.condition for narrowing in narrowings]
    if node:
        known = find_tag_ids(node) if tag_ids is None else tag_ids
        conditions.insert(0, _build_condition(normalise_query(node), known))
    return books.filter(*conditions)


def _build_condition(node: Node, tag_ids: Mapping[str, int]) -> Q:
    if isinstance(node, query.Tag):
        return _build_any_tag_condition([node], tag_ids)
    if isinstance(node, Not):
        return ~_build_condition(node.part, tag_ids)
    if isinstance(node, And):
        return reduce(and_, [_build_condition(part, tag_ids) for part in node.parts])
    tags = [part for part in node.parts if isinstance(part, query.Tag)]
    others = [_build_condition(part, tag_ids) for part in node.parts if not isinstance(part, query.Tag)]
    # One condition for all tags of an OR, so that SQL reads the links once.
    if tags:
        others.insert(0, _build_any_tag_condition(tags, tag_ids))
    return reduce(or_, others)


def _build_any_tag_condition(tags: Sequence[query.Tag], tag_ids: Mapping[str, int]) -> Q:
    ids = [tag_ids[tag.name] for tag in tags if tag.name in tag_ids]
    return Q(pk__in=Tagging._base_manager.filter(tag_id__in=ids).values("book_id"))


def count_books(node: Node | None, narrowings: Sequence[Narrowing], tag_ids: Mapping[str, int]) -> int:
    """Return the number of books that ``filter_books`` finds."""
    if isinstance(node, query.Tag) and not narrowings:
        # An index of the links has the number, without a look at each book.
        return Tagging._base_manager.using(database()).filter(tag_id=tag_ids.get(node.name, 0)).count()
    return filter_books(node, narrowings, tag_ids).count()


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
    FROM (SELECT tag_id, COUNT(*) AS books FROM catalog_book_tags {where} GROUP BY tag_id) c
    JOIN catalog_tag t ON t.id = c.tag_id AND NOT t.hidden
    ORDER BY c.books DESC, t.name COLLATE "{collation}"
    LIMIT %s
"""


def find_facets(books: QuerySet[Book], limit: int = 20, left_out: Collection[str] = ()) -> list[tuple[str, int]]:
    """Return the most frequent tags of ``books`` with their numbers of books, most frequent first, then by name.

    left_out: the query's own tags.
    """
    connection = connections[database()]
    where, parameters = "", ()
    if books.query.where:
        try:
            inner, parameters = books.order_by().values("pk").query.get_compiler(connection=connection).as_sql()
        except EmptyResultSet:
            return []
        where = f"WHERE book_id IN ({inner})"
    with connection.cursor() as cursor:
        # Read a few more rows, because the query's own tags may be among them.
        sql = _SELECT_FACETS.format(where=where, collation=arrays.byte_collation())
        cursor.execute(sql, [*parameters, limit + len(left_out)])
        return [(name, books) for name, books in cursor.fetchall() if name not in left_out][:limit]


def find_page(books: QuerySet[Book], order: str, after: Position | None, limit: int) -> list[Position]:
    """Return the positions of the next ``limit`` of ``books``. The position ``after`` need not belong to a book."""
    sort = sorts.get_sort(order)
    books = books.annotate(key=sort.expression())
    by_id = "-pk" if sort.is_reversed else "pk"
    found: list[Position] = []
    if after is None or after[0] is not None:
        keyed = books.filter(_build_after_condition(sort, *after)) if after else books.filter(key__isnull=False)
        rows = keyed.order_by(_build_key_ordering(sort), by_id).values_list("key", "pk")
        found = [(_convert_key(key), pk) for key, pk in rows[:limit]]
    if sort.has_gaps and len(found) < limit:
        # Books without a key come last. In a statement of their own, because with NULLS LAST PostgreSQL would use no
        # index and sort all books.
        rest = books.filter(key__isnull=True)
        if after is not None and after[0] is None:
            rest = rest.filter(_build_later_id_condition(sort, after[1]))
        found += [(None, pk) for pk in rest.order_by(by_id).values_list("pk", flat=True)[: limit - len(found)]]
    return found


def _convert_key(key: Any) -> Any:
    """Return the key of an order as Redis and cursors have it."""
    return float(key) if isinstance(key, Decimal) else key


def _build_key_ordering(sort: sorts.Sort) -> OrderBy:
    return F("key").desc() if _is_falling(sort) else F("key").asc()


def _build_after_condition(sort: sorts.Sort, key: Any, pk: int) -> Q:
    beyond, here = ("lt", "lte") if _is_falling(sort) else ("gt", "gte")
    # The first condition lets an index begin at the position.
    return Q(**{f"key__{here}": key}) & (Q(**{f"key__{beyond}": key}) | _build_later_id_condition(sort, pk))


def _build_later_id_condition(sort: sorts.Sort, pk: int) -> Q:
    return Q(pk__lt=pk) if sort.is_reversed else Q(pk__gt=pk)


def _is_falling(sort: sorts.Sort) -> bool:
    return sort.is_descending != sort.is_reversed
