"""A kind of visits, and the write that goes with it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from django.db.models import Max
from redis import Redis

from mirror.conf import setting
from mirror.visits import Visit, VisitKind, register, script
from tests.projects.mirrortest.models import Visited

_visit: Final = script(Path(__file__).parent / "lua" / "visit_page.lua")
PAGES: Final = "tpages"


class PageVisit(NamedTuple):
    """A visit to a page. at: seconds since 1970."""

    page: str
    at: float


def save_rows(rows: Sequence[Visited]) -> None:
    """Write rows that SQL does not have."""
    Visited.objects.bulk_create(rows, ignore_conflicts=True)


class PageVisits(VisitKind):
    """``tpages``: a sorted set of pages by their last visit."""

    name = "tpage"

    @property
    def beside(self) -> str:
        return PAGES

    def parse(self, fields: Mapping[str, str]) -> PageVisit:
        return PageVisit(fields["page"], float(fields["at"]))

    def save(self, visits: Sequence[Visit]) -> None:
        rows = [Visited(number=number, page=fact.page, at=fact.at) for number, fact in visits]
        save_rows(rows)
        if any(row.page == "refused" for row in rows):
            raise ValueError("this page is refused")

    def restore(self, redis: Redis, after: str) -> str | None:
        size = int(setting("CHUNK"))
        rows = Visited.objects.filter(page__gt=after).values_list("page").annotate(Max("at")).order_by("page")
        found = dict(rows[:size])
        if found:
            redis.zadd(PAGES, found, gt=True)
        return max(found) if len(found) == size else None


pages: Final = register(PageVisits())


def look(redis: Redis, page: str) -> None:
    """Visit a page."""
    _visit(redis, [PAGES, *pages.keys], [page, pages.length])
