"""The answer to a query, whoever gives it: the copy in the process, or SQL."""

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
    """What a query found.

    count: how many books. positions: one page of them. facets: the tags that most of them have.
    unknown: the first few of the query's tags that no book has, each with tags that look like it. languages: codes of
    the languages of most books of the whole catalogue, most first.
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
    """The answer that is true. The page has up to ``limit`` positions after ``after``."""
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
    """How many books have each of these tags; those that none has are left out."""
    links = Tagging._base_manager.using(setting("DATABASE")).filter(tag__name__in=names)
    return dict(links.values_list("tag__name").annotate(books=Count("pk")))
