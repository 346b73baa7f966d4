"""``import_goodbooks`` on the real files, held against counting in the files themselves."""

import csv
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db.models import Max

from catalog import sql
from catalog.models import Book
from catalog.names import normalise
from catalog.query import evaluate, parse
from mirror.models import Change

REAL = settings.BASE_DIR.parent / "shared" / "data" / "goodbooks"
BOOKS = 2500  # whose import is killed: more than a transaction
pytestmark = [
    pytest.mark.slow(20),
    pytest.mark.skipif(
        not REAL.exists() and "CI" not in os.environ, reason="needs the goodbooks files in ../shared/data/goodbooks"
    ),
]


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (REAL / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _tagged() -> dict[str, set[int]]:
    """From a tag's name to the book_ids that have it, as the files say."""
    books = {row["goodreads_book_id"]: int(row["book_id"]) for row in _rows("books.csv")}
    names = {row["tag_id"]: normalise(row["tag_name"]) for row in _rows("tags.csv")}
    tagged: dict[str, set[int]] = defaultdict(set)
    for row in _rows("book_tags.csv"):
        tagged[names[row["tag_id"]]].add(books[row["goodreads_book_id"]])
    return tagged


def _written() -> tuple[int, int | None]:
    return Change.objects.count(), Change.objects.aggregate(Max("id"))["id__max"]


# Committed, and so thrown away with the tables: what is rolled back stays in them, and what PostgreSQL believes of
# their size too, until it tidies up, and whatever asks them until then takes much longer.
@pytest.mark.django_db(transaction=True)
@pytest.mark.on_postgres  # on SQLite: small files in test_import, and a search of these in a browser
def test_the_catalogue_is_what_the_files_say_and_again_nothing_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call_command("import_goodbooks", str(REAL), "--books-only", "--json")
    report = json.loads(capsys.readouterr().out)
    tagged = _tagged()
    rows = list(_rows("books.csv"))
    assert report["added"] == {
        "books": len(rows),
        "authors": len({" ".join(name.split()) for row in rows for name in row["authors"].split(",")}),
        "tags": len({normalise(row["tag_name"]) for row in _rows("tags.csv")}),
        "taggings": sum(map(len, tagged.values())),
    }
    assert Book.tags.through.objects.count() == report["added"]["taggings"]
    assert dict(Book.objects.values_list("pk", "title")) == {int(r["book_id"]): r["title"].strip() for r in rows}
    assert Book.objects.filter(year__lt=0).count() == sum(r["original_publication_year"][:1] == "-" for r in rows)
    assert report["dirt"]["no year"]["count"] == Book.objects.filter(year=None).count() > 0
    for text in ("fantasy & young-adult", "fantasy - romance", "(classics | 20th-century) & fiction", "-to-read"):
        node = parse(text)
        assert node is not None
        expected = evaluate(node, tagged.__getitem__, lambda: {int(row["book_id"]) for row in rows})
        assert set(sql.matching(node).values_list("pk", flat=True)) == expected
        assert sql.count(node) == len(expected) > 0
    before = _written()
    call_command("import_goodbooks", str(REAL), "--books-only", "--json")
    assert set(json.loads(capsys.readouterr().out)["added"].values()) == {0}
    assert _written() == before


@pytest.mark.django_db(transaction=True)
def test_killed_in_the_middle_of_anything_it_goes_on(environment: dict[str, str]) -> None:
    asked = [str(REAL), "--books-only", "--limit", str(BOOKS)]

    def run(*command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *command], cwd=settings.BASE_DIR, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    for what in ("books", "tags", "taggings"):
        with run("-m", "tests.support.catalog.stopping", what, *asked) as process:
            assert process.stdout
            assert process.stdout.readline() == "in the middle\n"
            process.kill()
    assert Book.tags.through.objects.exists()
    with run("manage.py", "import_goodbooks", *asked, "--json") as process:
        said, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(said)["added"]["taggings"] > 0
    expected = {name: found for name, books in _tagged().items() if (found := {pk for pk in books if pk <= BOOKS})}
    tagged: dict[str, set[int]] = defaultdict(set)
    for name, pk in Book.tags.through.objects.values_list("tag__name", "book_id"):
        tagged[name].add(pk)
    assert tagged == expected
    assert Book.objects.count() == BOOKS
