"""``import_goodbooks`` on folders with every kind of bad data."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import Max

from catalog.importer import books as importing
from catalog.importer import tags as tagging
from catalog.models import Author, Book, Tag, Tagging
from mirror.models import Change
from tests.support.catalog.goodbooks import books_csv, links_csv, tags_csv, write
from tests.support.catalog.make import make_book
from tests.support.timings import Timings

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("sqlite")]
Capture = pytest.CaptureFixture[str]


def load(folder: Path, capsys: Capture, *arguments: str) -> dict[str, Any]:
    """Run the command, and return its report."""
    call_command("import_goodbooks", str(folder), "--books-only", "--json", *arguments)
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def dirt(report: dict[str, Any]) -> dict[str, int]:
    """Return the counts of problems by kind, without the lost digits that nearly every row has."""
    counts = {kind: found["count"] for kind, found in report["dirt"].items()}
    counts.pop("ISBN-13 with lost digits", None)
    return counts


def written() -> tuple[int, int | None, int]:
    """Return a value that changes with any write to the catalogue."""
    return Change.objects.count(), Change.objects.aggregate(Max("id"))["id__max"], Tagging.objects.count()


def test_books_get_their_authors_in_order_and_their_tags(tmp_path: Path, capsys: Capture) -> None:
    write(
        tmp_path,
        books_csv(
            {"authors": "Zoe Last, Ann Author"},
            {
                "book_id": "7",
                "goodreads_book_id": "5",
                "title": 'Say "Hi", Friend',
                "original_publication_year": "-720",
            },
        ),
        tags_csv(("1", "Sci-Fi"), ("2", "-"), ("3", "武侠")),
        links_csv(("101", "1"), ("5", "1"), ("5", "2"), ("5", "3")),
    )
    report = load(tmp_path, capsys)
    assert report["added"] == {"books": 2, "authors": 2, "tags": 3, "taggings": 4}
    first, second = Book.objects.order_by("pk")
    assert (first.pk, first.title, first.year, first.language) == (1, "A Title", 2008, "eng")
    assert (first.isbn, str(first.rating), first.popularity) == ("9780439023481", "4.34", 4780653)
    links = Book.authors.through.objects.filter(book=first).order_by("pk")
    assert [link.author.name for link in links] == ["Zoe Last", "Ann Author"]
    assert (second.pk, second.title, second.year) == (7, 'Say "Hi", Friend', -720)
    assert sorted(tag.name for tag in second.tags.all()) == ["-", "sci-fi", "武侠"]


def test_a_second_import_writes_nothing(tmp_path: Path, capsys: Capture) -> None:
    write(
        tmp_path,
        books_csv({}, {"book_id": "x", "goodreads_book_id": "2"}),
        tags_csv(("1", "A"), ("2", "a")),
        links_csv(("101", "1"), ("101", "2"), ("2", "2")),
    )
    load(tmp_path, capsys)
    Book.objects.filter(pk=1).update(title="Mended by hand")
    before = written()
    assert set(load(tmp_path, capsys)["added"].values()) == {0}
    assert written() == before
    assert Book.objects.get(pk=1).title == "Mended by hand"


@pytest.mark.parametrize("after", range(1, 8))
def test_an_import_continues_after_a_stop_anywhere(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    numbers = [str(n) for n in range(1, 6)]
    write(
        tmp_path,
        books_csv(*({"book_id": n, "goodreads_book_id": f"10{n}", "authors": f"A{n}, B"} for n in numbers)),
        tags_csv(*((n, f"t{n}") for n in numbers)),
        links_csv(*((f"10{book}", tag) for book in numbers for tag in numbers)),
    )
    monkeypatch.setattr(importing, "BATCH_SIZE", 2)
    monkeypatch.setattr(tagging, "BATCH_SIZE", 2)
    left = after

    def power_cut(self: object, what: str, rows: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(SystemExit, match="2"):
        patched.setattr("mirror.management.progress.Progress.__call__", power_cut)
        load(tmp_path, capsys)
    load(tmp_path, capsys)
    assert {book.pk: {tag.name for tag in book.tags.all()} for book in Book.objects.all()} == {
        int(n): {f"t{m}" for m in numbers} for n in numbers
    }
    assert Book.authors.through.objects.count() == 10


def test_bad_books_are_counted_by_kind_and_good_ones_imported(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        {"title": "", "original_title": "From the original"},
        {"title": "", "original_title": ""},
        {"title": "x" * 600},
        {"authors": "y" * 400},
        {"authors": " , "},
        {"original_publication_year": ""},
        {"original_publication_year": "soon"},
        {"isbn": "1234567890", "isbn13": ""},
        {"average_rating": "nan"},
        {"ratings_count": "-3"},
        {"book_id": "first"},
        {"goodreads_book_id": "none"},
        {"goodreads_book_id": "101"},
        {"title": "nul\0byte"},
        {"language_code": "a very long language"},
    ]
    write(
        tmp_path,
        books_csv(*({"book_id": str(n), "goodreads_book_id": f"10{n}", **row} for n, row in enumerate(rows, 1))),
    )
    report = load(tmp_path, capsys)
    assert dirt(report) == {
        "no title: original title taken": 1,
        "no title at all": 1,
        "title cut": 1,
        "author's name cut": 1,
        "no author": 1,
        "no year": 1,
        "unusable year": 1,
        "unusable ISBN": 1,
        "unusable rating": 1,
        "unusable language": 1,
        "unusable count": 1,
        "unusable book_id": 1,
        "books without a usable goodreads_book_id": 1,
        "books listed twice": 1,
        "NUL bytes": 1,
    }
    assert report["dirt"]["title cut"]["first"] == "books.csv:4"
    titles = dict(Book.objects.values_list("goodreads_id", "title"))
    assert (titles[101], titles[102], titles[103]) == ("From the original", "[untitled]", "x" * 499 + "…")
    assert titles[1014] == "nulbyte"
    assert len(titles) == len(rows) - 2
    assert Author.objects.filter(name="y" * 299 + "…").exists()


def test_bad_tags_are_counted_by_kind_and_good_ones_imported(tmp_path: Path, capsys: Capture) -> None:
    write(
        tmp_path,
        books_csv({}),
        tags_csv(
            ("1", "--1-"), ("2", "Favorites"), ("3", "ＦＡＶＯＲＩＴＥＳ"), ("4", ""), ("5", "   "), ("six", "six"),
            ("7", "z" * 300), ("1", "another name"), ("8", "Φιλοσοφία"), ("9", "not on any book"),
        ),
        links_csv(
            ("101", "1"), ("101", "2"), ("101", "2"), ("101", "3"), ("101", "8"), ("999", "1"), ("101", "4"),
            ("101", "77"), ("", "1"), ("101", "x"),
        ),
    )  # fmt: skip
    report = load(tmp_path, capsys)
    assert dirt(report) == {
        "tags without a name": 2,
        "tags without a usable number": 1,
        "tags with too long a name": 1,
        "tag numbers listed twice": 1,
        "one tag twice on one book": 2,
        "taggings of unknown books": 1,
        "taggings with unknown tags": 2,
        "taggings without usable numbers": 2,
    }
    assert report["read"]["tags merged"] == 1
    assert {tag.name for tag in Book.objects.get().tags.all()} == {"--1-", "favorites", "φιλοσοφία"}
    assert Tag.objects.filter(name="not on any book").exists()


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path, b"\xef\xbb\xbf" + books_csv({"title": "Émile"}).replace("\n", "\r\n").encode())
    assert dirt(load(tmp_path, capsys)) == {}
    assert Book.objects.get().title == "Émile"


def test_utf_16_is_recognised_by_its_byte_order_mark(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path, books_csv({"title": "Émile 武侠"}).encode("utf-16"))
    assert dirt(load(tmp_path, capsys)) == {}
    assert Book.objects.get().title == "Émile 武侠"


def test_a_line_in_another_encoding_is_read_and_counted(tmp_path: Path, capsys: Capture) -> None:
    good, bad = books_csv({"title": "Émile"}), books_csv({"goodreads_book_id": "2", "book_id": "2", "title": "Café"})
    write(tmp_path, good.encode() + bad.splitlines()[1].encode("cp1252") + b"\r\n")
    assert dirt(load(tmp_path, capsys)) == {"lines that are not UTF-8, read as Windows-1252": 1}
    assert set(Book.objects.values_list("title", flat=True)) == {"Émile", "Café"}


def test_rows_of_another_width_and_misplaced_quotes_are_skipped(tmp_path: Path, capsys: Capture) -> None:
    write(
        tmp_path,
        books_csv({}),
        tags_csv(("1", "one")) + '2\r\n3,three,more\r\n\r\n4,"fo"ur\r\n5,five\r\n',
    )
    report = load(tmp_path, capsys)
    assert dirt(report) == {"rows with too few or too many columns": 2, "quotes in the wrong place": 1}
    assert set(Tag.objects.values_list("name", flat=True)) == {"one", "four", "five"}


def test_a_book_keeps_the_id_of_the_file_unless_it_is_taken(tmp_path: Path, capsys: Capture) -> None:
    make_book("The shop's own", pk=2)
    write(
        tmp_path,
        books_csv(
            {"book_id": "2", "goodreads_book_id": "22", "title": "Two"},
            {"book_id": "3", "goodreads_book_id": "33", "title": "Three"},
            {"book_id": "3", "goodreads_book_id": "34", "title": "Three again"},
            {"book_id": "4", "goodreads_book_id": "44", "title": "Four"},
        ),
    )
    assert load(tmp_path, capsys)["added"]["books"] == 4
    keys = dict(Book.objects.values_list("title", "pk"))
    assert (keys["The shop's own"], keys["Three"], keys["Four"]) == (2, 3, 4)
    assert {keys["Two"], keys["Three again"]}.isdisjoint({2, 3, 4})
    before = written()
    assert load(tmp_path, capsys)["added"]["books"] == 0
    assert written() == before


def test_later_books_get_ids_above_those_of_the_files(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path, books_csv({"book_id": "1000"}))
    load(tmp_path, capsys)
    assert make_book("A new one").pk > 1000


def test_an_impossible_limit_is_a_one_line_error(tmp_path: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="2"):
        call_command("import_goodbooks", str(tmp_path), "--limit", "0")
    assert capsys.readouterr().err == "--limit must be at least 1\n"


def test_a_limit_imports_the_first_books_and_a_later_run_the_rest(tmp_path: Path, capsys: Capture) -> None:
    write(
        tmp_path,
        books_csv(*({"book_id": str(n), "goodreads_book_id": f"10{n}"} for n in range(1, 6))),
        tags_csv(("1", "a")),
        links_csv(*((f"10{n}", "1") for n in range(1, 6))),
    )
    assert load(tmp_path, capsys, "--limit", "2")["added"]["books"] == 2
    assert set(Book.objects.values_list("pk", flat=True)) == {1, 2}
    assert load(tmp_path, capsys)["added"] == {"books": 3, "authors": 0, "tags": 0, "taggings": 3}


@pytest.mark.parametrize(
    ("file", "content", "line"),
    [
        ("books.csv", None, "books.csv: No such file or directory"),
        ("tags.csv", None, "tags.csv: No such file or directory"),
        ("book_tags.csv", b"", "book_tags.csv, line 1: there is no header"),
        ("tags.csv", b"tag_id;tag_name\n1;x\n", 'tags.csv, line 1: the column "tag_id" is missing'),
        ("tags.csv", b"tag_id,tag_id,tag_name\n", 'tags.csv, line 1: the column "tag_id" is there twice'),
        ("books.csv", b"book_id,title\n1,x\n", 'books.csv, line 1: the column "goodreads_book_id" is missing'),
        ("tags.csv", b'tag_id,tag_name\n1,a\n2,"b\n3,c\n', "tags.csv, line 3: a quoted cell that begins here"),
        ("tags.csv", b'tag_id,tag_name\n1,a\n2,"b\n3,"c"\n', "tags.csv, line 3: a quoted cell that begins here"),
    ],
)
def test_an_unreadable_file_is_a_one_line_error_with_exit_code_2(
    tmp_path: Path, capsys: Capture, timings: Timings, file: str, content: bytes | None, line: str
) -> None:
    timings(PROGRESS_SECONDS=float("inf"))  # without the progress
    write(tmp_path, books_csv({}), tags_csv(("1", "a")), links_csv(("101", "1")))
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(SystemExit, match="2"):
        call_command("import_goodbooks", str(tmp_path))
    assert line in (said := capsys.readouterr().err)
    assert said.count("\n") == 1
    assert "Traceback" not in said


def test_headers_are_checked_before_the_first_write(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path, books_csv({}), links="nothing,useful\n")
    with pytest.raises(SystemExit, match="2"):
        call_command("import_goodbooks", str(tmp_path))
    assert not Book.objects.exists()


def test_a_folder_without_a_usable_book_gives_exit_code_1(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path, books_csv({"goodreads_book_id": "?"}))
    with pytest.raises(SystemExit, match="1"):
        call_command("import_goodbooks", str(tmp_path))


def test_the_last_lines_report_additions_and_problems(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path, books_csv({"original_publication_year": ""}), tags_csv(("1", "a")), links_csv(("101", "1")))
    call_command("import_goodbooks", str(tmp_path), "--books-only")
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("added 1 books, 1 authors, 1 tags, 1 taggings in ")
    assert last == "dirt: no year 1 (first: books.csv:2), ISBN-13 with lost digits 1 (first: books.csv:2)"


@pytest.mark.only_on("postgres")
def test_an_import_updates_the_statistics_of_the_planner(tmp_path: Path, capsys: Capture) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_class SET reltuples = 0, relpages = 5 WHERE relname LIKE 'catalog_%%'")
        write(tmp_path, books_csv({}), tags_csv(("1", "a")), links_csv(("101", "1")))
        load(tmp_path, capsys)
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname IN ('catalog_book', 'catalog_book_tags')")
        assert [count for (count,) in cursor.fetchall()] == [1, 1]


def test_pages_are_read_if_the_file_has_them(tmp_path: Path, capsys: Capture) -> None:
    header, row = books_csv({}).splitlines()
    write(tmp_path, f"{header},pages\r\n{row},352\r\n")
    load(tmp_path, capsys)
    assert Book.objects.get().pages == 352
