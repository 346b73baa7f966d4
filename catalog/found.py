"""The answer to a query, from the copy in the process or from SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Count

from catalog import nearest, query, sql
from catalog.filters import Narrowing
from catalog.models import Tagging
from mirror.conf import setting

FACETS: Final = 20
LANGUAGES: Final = 40

Counts = list[tuple[str, int]]  # name of a tag, number of books


@dataclass(frozen=True)
class Found:
    """The answer to a query.

    count: the number of books. positions: one page of them. facets: their most frequent tags. unknown: the first few
    tags of the query that no book has, each with similar tags. languages: the codes of the most frequent languages of
    the whole catalogue, most frequent first.
    """

    count: int
    positions: list[sql.Position]
    facets: Counts
    unknown: list[tuple[str, Counts]]
    languages: list[str]


NOTHING = Found(0, [], [], [], [])


def by_sql(
    node: query.Node | None,
    order: str,
    after: sql.Position | None,
    limit: int,
    narrowings: Sequence[Narrowing] = (),
) -> Found:
    """Return the answer from SQL. The page has up to ``limit`` positions after ``after``."""
    return Found(
        count=sql.count(node, narrowings),
        positions=sql.page(node, order, after, limit, narrowings),
        facets=sql.facets(node, FACETS, narrowings),
        unknown=_unknown(node),
        languages=[code for code, _ in sql.count_languages(LANGUAGES)],
    )


def _unknown(node: query.Node | None) -> list[tuple[str, Counts]]:
    if node is None:
        return []
    names = query.terms_in_order(node)
    known = _sizes(names)
    missing = [name for name in names if name not in known][: nearest.NAMES]
    return [(name, nearest.best(_sizes(nearest.variants(name)))) for name in missing]


def _sizes(names: list[str]) -> dict[str, int]:
    """Return the number of books with each of these tags, without tags that no book has."""
    links = Tagging._base_manager.using(setting("DATABASE")).filter(tag__name__in=names)
    return dict(links.values_list("tag__name").annotate(books=Count("pk")))
