"""Load the catalogue into Redis and into the process, and compare answers of Redis with answers of SQL."""

from collections.abc import Iterator
from typing import Any

import pytest

from catalog.listing.filters import NO_FILTERS, ChosenFilters
from catalog.listing.results import PAGE_SIZE, BookList
from catalog.local.index import local_copy
from catalog.selectors import find_books
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from tests.support.servers import PATIENCE_SECONDS
from tests.support.warm_mirrors import rebuild

MIRRORS = [
    "author", "book", "book_details", "tag", "hidden_tag", "tag_vote", "product", "recommendation", "listed_book",
    "reading_list",
]  # fmt: skip


def warm_up() -> None:
    """Rebuild and drain the mirrors of the catalogue, and load this process's index."""
    rebuild(MIRRORS)
    drain_all()
    assert local_copy.ensure_loaded(PATIENCE_SECONDS)


@pytest.fixture
def own_copy() -> Iterator[None]:
    """Start the test with an unloaded index, and stop its thread afterwards."""
    local_copy.forget()
    yield
    local_copy.forget()


def shown(page: BookList) -> dict[str, Any]:
    """Return everything that a template can read from a page of books."""
    return {
        "query": page.query,
        "sort": page.sort,
        "sorts": page.sorts,
        "filters": page.filters,
        "languages": page.languages,
        "error": page.error and (str(page.error), page.error.position, page.error.length),
        "count": page.count,
        "books": [book.raw for book in page.books],
        "beside": [[said and said.raw for said in values] for values in page.card_values],
        "next": page.next,
        "next_url": page.next_url,
        "facets": page.facets,
        "chips": page.chips,
        "unknown": page.unknown_tags,
    }


def find_both_ways(
    text: str, sort: str = "", after: str = "", chosen: ChosenFilters = NO_FILTERS, pages: int = 1
) -> BookList:
    """Return a page of books from Redis, after checking its cost and that SQL returns an equal page."""
    with record() as seen:
        page = find_books(text, sort, after, chosen, pages)
    assert (seen.round_trips, seen.sql) == (1, [])
    with record() as seen, sql_only():
        by_sql = find_books(text, sort, after, chosen, pages)
    assert seen.round_trips == 0
    assert shown(page) == shown(by_sql)
    return page


def find_all_pages(text: str, sort: str, chosen: ChosenFilters = NO_FILTERS) -> list[int]:
    """Return the ids of the books on all pages, with each page read from Redis and from SQL."""
    page = find_both_ways(text, sort, "", chosen)
    found = [book["id"] for book in page.books]
    while page.next:
        assert len(page.books) == PAGE_SIZE
        page = find_both_ways(text, sort, page.next, chosen)
        found += [book["id"] for book in page.books]
    assert len(found) == page.count
    return found
