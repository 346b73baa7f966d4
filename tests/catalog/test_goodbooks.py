"""A whole catalogue in goodbooks format, compared with counts in the files themselves."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Max

from catalog import query
from catalog.listing import sql
from catalog.local.index import local_copy
from catalog.models import Book, Tagging
from catalog.query import And, Node, Not, Or
from mirror.models import Change
from tests.support import real_data, samples
from tests.support.catalog.goodbooks import fold, read_rows, read_tagged, write_first_books
from tests.support.catalog.make import make_products
from tests.support.catalog.queries import ORDERS
from tests.support.catalog.warm import find_all_pages, find_both_ways, own_copy, warm_up

__all__ = ["own_copy"]
QUERIES = 40
BOOKS = 1_000  # of the file, in its order
Capture = pytest.CaptureFixture[str]
FOLDERS = [
    pytest.param(samples.GOODBOOKS, id="sample"),
    pytest.param(
        real_data.GOODBOOKS,
        id="real",
        marks=[pytest.mark.real_data, pytest.mark.only_on("postgres"), pytest.mark.slow(40)],
    ),
]


# The rows are committed and the tables emptied afterwards. Rolled-back rows would stay in the tables until PostgreSQL
# vacuums them, and until then wrong estimates of the size would slow down every query.
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("own_copy")
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_catalogue_equals_the_files_in_sql_and_redis(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = write_first_books(folder, tmp_path, BOOKS)
    report = _load(folder, capsys)
    tagged = read_tagged(folder)
    _check_rows(folder, tagged, report)
    _check_queries(tagged)
    before = _written()
    assert set(_load(folder, capsys)["added"].values()) == {0}
    assert _written() == before
    make_products(Book.objects.all())
    warm_up()
    _check_any_query()
    _check_every_page("classics - fiction")
    _check_the_whole_catalogue()


def _load(folder: Path, capsys: Capture) -> dict[str, Any]:
    call_command("import_goodbooks", str(folder), "--books-only", "--json")
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def _written() -> tuple[int, int | None]:
    return Change.objects.count(), Change.objects.aggregate(Max("id"))["id__max"]


def _check_rows(folder: Path, tagged: Mapping[str, set[int]], report: dict[str, Any]) -> None:
    """Assert that rows, figures of the report and counts of problems match the files."""
    rows = list(read_rows(folder, "books.csv"))
    tags = [fold(row["tag_name"]) for row in read_rows(folder, "tags.csv")]
    links = sum(1 for _ in read_rows(folder, "book_tags.csv"))
    assert report["added"] == {
        "books": len(rows),
        "authors": len({" ".join(name.split()) for row in rows for name in row["authors"].split(",")}),
        "tags": len(set(tags)),
        "taggings": sum(map(len, tagged.values())),
    }
    assert report["read"]["tags merged"] == len(tags) - len(set(tags)) > 0
    dirt = {kind: found["count"] for kind, found in report["dirt"].items()}
    assert dirt["one tag twice on one book"] == links - report["added"]["taggings"] > 0
    assert dirt["no year"] == Book.objects.filter(year=None).count() > 0
    assert Tagging.objects.count() == report["added"]["taggings"]
    titles = {int(row["book_id"]): (row["title"] or row["original_title"]).strip() for row in rows}
    assert dict(Book.objects.values_list("pk", "title")) == titles
    before_christ = sum(row["original_publication_year"][:1] == "-" for row in rows)
    assert Book.objects.filter(year__lt=0).count() == before_christ > 0


def _check_queries(tagged: Mapping[str, set[int]]) -> None:
    """Assert that queries in SQL find the books in the files."""
    everything = set(Book.objects.values_list("pk", flat=True))
    for text in ("fantasy & young-adult", "fantasy - romance", "(classics | 20th-century) & fiction", "-to-read"):
        node = _parse(text)
        expected = query.evaluate(node, tagged.__getitem__, lambda: everything)
        assert set(sql.filter_books(node).values_list("pk", flat=True)) == expected
        assert sql.filter_books(node).count() == len(expected) > 0


def _parse(text: str) -> Node:
    node = query.parse(text)
    assert node is not None
    return node


def _check_any_query() -> None:
    """Assert that Redis and SQL show the same two pages of any query."""
    held = local_copy._held
    assert held is not None
    names = [name for _, name in held.structure._taggings.sizes] + ["no such tag", "fantsy"]
    chance, found = random.Random(20), 0
    for n in range(QUERIES):
        page = find_both_ways(query.format_query(_random_query(chance, names)), ORDERS[n % len(ORDERS)])
        found += page.count > 0
        if page.next:
            find_both_ways(page.query, page.sort, page.next)
    assert found > QUERIES / 2


def _random_query(chance: random.Random, names: list[str], depth: int = 0) -> Node:
    """Return a random query. Common tags occur more often than rare ones."""
    kind = chance.choice(["tag", "and", "or", "not", "minus"] if depth < 3 else ["tag"])
    if kind == "tag":
        return query.Tag(names[int(len(names) * chance.random() ** 4)])
    if kind == "not":
        return Not(_random_query(chance, names, depth + 1))
    parts = tuple(_random_query(chance, names, depth + 1) for _ in range(chance.randint(2, 3)))
    if kind == "minus":
        return And((parts[0], *map(Not, parts[1:])))
    return And(parts) if kind == "and" else Or(parts)


def _check_every_page(text: str) -> None:
    """Assert that Redis and SQL show the same on every page of a query in every order."""
    expected = set(sql.filter_books(_parse(text)).values_list("pk", flat=True))
    for order in ORDERS:
        assert set(find_all_pages(text, order)) == expected


def _check_the_whole_catalogue() -> None:
    """Assert that the copy pages through all books in the same orders as SQL."""
    held = local_copy._held
    assert held is not None
    for order in ORDERS:
        expected = sql.find_page(sql.filter_books(None), order, None, Book.objects.count())
        found: list[sql.Position] = []
        while page := held.structure.find(None, order, found[-1] if found else None, 500).positions:
            found += page
        assert found == expected
