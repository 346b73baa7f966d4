"""The targets of search, on the sample and on a part of the real catalogue. ``tests.bench.search`` uses all of it."""

import random
from pathlib import Path

import pytest

from catalog.models import Book, Tag
from mirror.relay.sql_only import sql_only
from tests.support import real_data, samples
from tests.support.search.queries import (
    all_authors,
    all_titles,
    count_first_authors,
    count_found,
    load_books,
    mistype,
    search_both_ways,
)

BOOKS = 480  # of the real catalogue
ASKED = 100  # titles, and authors
QUERIES = 50
FOLDERS = [
    pytest.param(samples.GOODBOOKS, id="sample"),
    pytest.param(real_data.GOODBOOKS, id="real", marks=[pytest.mark.real_data, pytest.mark.slow(20)]),
]


@pytest.mark.only_on("sqlite")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("folder", FOLDERS)
def test_titles_and_authors_are_found_and_redis_and_sql_agree(folder: Path, tmp_path: Path) -> None:
    load_books(folder, BOOKS, tmp_path)
    chance = random.Random(2026)
    titles = chance.sample(all_titles(), ASKED)
    mistyped = [(pk, mistype(title, chance)) for pk, title in titles]
    authors = chance.sample(all_authors(), ASKED)
    assert count_found(titles) >= 0.99 * ASKED
    assert count_found(mistyped) >= 0.95 * ASKED
    assert count_first_authors(authors) == ASKED
    with sql_only():
        assert count_found(titles[:20]) == 20
    for query in _queries(chance):
        search_both_ways(query)


def _queries(chance: random.Random) -> list[str]:
    """Return random words of titles, authors and tags, some cut short or mistyped."""
    names = [*Book.objects.values_list("title", flat=True), *(name for _, name in all_authors())]
    words = [word for name in [*names, *Tag.objects.values_list("name", flat=True)] for word in name.split()]
    found = []
    for _ in range(QUERIES):
        query = " ".join(chance.sample(words, chance.randint(1, 5)))
        query = mistype(query, chance) if chance.random() < 0.5 else query
        found.append(query[: chance.randint(1, len(query))] if chance.random() < 0.3 else query)
    return found
