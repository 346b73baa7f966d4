"""The answer to a query, from the copy in the process or from SQL."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.db.models import Count

from catalog import query
from catalog.listing import sql
from catalog.listing.filters import Narrowing
from catalog.models import Tagging
from catalog.tags import similar
from mirror.conf import database

MAX_FACETS: Final = 20
MAX_LANGUAGES: Final = 40

TagCounts = list[tuple[str, int]]  # name of a tag, number of books


@dataclass(frozen=True)
class QueryAnswer:
    """The answer to a query.

    count: the number of books. positions: one page of them. facets: their most frequent tags. unknown: the first few
    tags of the query that no book has, each with similar tags. languages: the codes of the most frequent languages of
    the whole catalogue, most frequent first.
    """

    count: int
    positions: list[sql.Position]
    facets: TagCounts
    unknown: list[tuple[str, TagCounts]]
    languages: list[str]


EMPTY_ANSWER = QueryAnswer(0, [], [], [], [])


def answer_in_sql(
    node: query.Node | None,
    order: str,
    after: sql.Position | None,
    limit: int,
    narrowings: Sequence[Narrowing] = (),
    *,
    is_brief: bool = False,
) -> QueryAnswer:
    """Return the answer from SQL. The page has up to ``limit`` positions after ``after``. is_brief: only the page."""
    tag_ids = sql.find_tag_ids(node)
    books = sql.filter_books(node, narrowings, tag_ids)
    positions = sql.find_page(books, order, after, limit)
    if is_brief:
        return replace(EMPTY_ANSWER, positions=positions)
    return QueryAnswer(
        count=sql.count_books(node, narrowings, tag_ids),
        positions=positions,
        facets=sql.find_facets(books, MAX_FACETS, query.find_terms(node) if node else ()),
        unknown=_find_unknown_tags(node, tag_ids),
        languages=[code for code, _ in sql.count_languages(MAX_LANGUAGES)],
    )


def _find_unknown_tags(node: query.Node | None, known: Collection[str]) -> list[tuple[str, TagCounts]]:
    if node is None:
        return []
    missing = [name for name in query.find_terms_in_order(node) if name not in known]
    found = []
    for name in missing[: similar.MAX_UNKNOWN_NAMES]:
        counts = _count_books_by_tag(similar.generate_variants(name))
        found.append((name, similar.pick_most_used(counts)))
    return found


def _count_books_by_tag(names: list[str]) -> dict[str, int]:
    """Return the number of books with each of these tags, without tags that no book has."""
    links = Tagging._base_manager.using(database()).filter(tag__name__in=names)
    return dict(links.values_list("tag__name").annotate(books=Count("pk")))
