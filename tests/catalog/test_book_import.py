"""Books from a CSV file: the download comes back unchanged, errors name their cells, and all is written or nothing."""

import csv
import io
import re
from typing import Any, Final

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.audit.models import AuditEvent
from accounts.models import User
from catalog.authors.merging import merge_authors
from catalog.details.models import BookDetails
from catalog.importer.current import COLUMNS
from catalog.importer.edits import BooksChanged, apply_book_edits
from catalog.importer.table import Allowed, read_book_table
from catalog.models import Author, Book, Tag, TagAlias, TagVote
from tests.support.catalog.make import make_book

pytestmark = pytest.mark.django_db

BOOKS: Final = "/admin/catalog/book/"
IMPORT: Final = f"{BOOKS}import/"
TEXT: Final = 'First line;\r\n=2nd line, "quoted"\r\n\r\n- last line'


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


@pytest.fixture
def emma() -> Book:
    emma = make_book("=Emma", tags="novel classics", authors="Jane Austen,Ann; Lee", year=1815, isbn="9780439023481")
    BookDetails.objects.create(book=emma, description=TEXT, publisher="'=John Murray", format="paperback")
    return emma


def download(client: Client, *books: Book) -> list[dict[str, str]]:
    form = {"action": "export_csv", "_selected_action": [book.pk for book in books]}
    response: Any = client.post(BOOKS, form)
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode(), newline="")))


def write(rows: list[dict[str, str]], delimiter: str = ",") -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def upload(client: Client, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    response = client.post(IMPORT, {"file": SimpleUploadedFile("books.csv", data)})
    assert response.status_code == 200
    return str(response.content.decode())


def read_errors(page: str) -> list[tuple[str, str, str]]:
    row = r'<tr><th scope="row" class="number">(\d+)</th><td>([^<]*)</td><td>([^<]*)</td>'
    return re.findall(row, page)


def confirm(client: Client, page: str) -> str:
    fields = dict(re.findall(r'type="hidden" name="(content|seen)" value="([^"]+)"', page))
    return str(client.post(IMPORT, fields, follow=True).content.decode())


def test_a_download_comes_back_and_changes_nothing(staff: Client, emma: Book) -> None:
    bare = make_book("Bare", year=-500)
    rows = download(staff, emma, bare)
    assert rows[0]["title"] == "'=Emma"
    assert rows[0]["authors"] == "Jane Austen; Ann; Lee"
    assert rows[0]["tags"] == "classics; novel"
    content = write(rows)
    saved_elsewhere = content.replace("\r\n", "\n")
    unescaped = write([{name: cell.replace("'=", "=") for name, cell in row.items()} for row in rows])
    for same in (
        content,
        saved_elsewhere,
        write(rows, ";"),
        write(rows, "\t").encode("utf-16"),
        content.encode("utf-8-sig"),
    ):
        assert "0 books would change" in upload(staff, same)
    # A spreadsheet may show the cell without the apostrophe. Of a publisher that begins with one, it is then missing.
    assert "publisher: &#x27;=John Murray → =John Murray" in upload(staff, unescaped)


def test_cells_change_books_together_with_a_line_in_the_audit_log(staff: Client, emma: Book) -> None:
    merged = Author.objects.create(name="J. Austen")
    merge_authors(Author.objects.filter(pk=merged.pk), Author.objects.get(name="Jane Austen"))
    TagAlias.objects.create(name="classic", tag=Tag.objects.get(name="classics"))
    TagVote.objects.create(user=User.objects.get(), book=emma, tag=Tag.objects.get(name="novel"))
    (row,) = download(staff, emma)
    row |= {
        "title": "Emma", "authors": "Zoe Bell; J. Austen", "year": "1816", "isbn": "978-0-14-143958-7", "pages": "474",
        "language": "en", "format": "Hardback", "publisher": "", "description": "New.\nText.",
        "tags": " Young  Adult ; CLASSIC",
    }  # fmt: skip
    page = upload(staff, write([row]))
    assert "1 book would change" in page
    assert "title: =Emma → Emma" in page
    assert "publisher: &#x27;=John Murray → –" in page
    assert Book.objects.get().title == "=Emma"
    assert "1 book was changed." in confirm(staff, page)
    book = Book.objects.select_related("details").get()
    assert (book.title, book.year, book.isbn, book.pages, book.language) == ("Emma", 1816, "9780141439587", 474, "en")
    assert book.details.publisher == ""
    assert (book.details.format, book.details.description) == ("hardcover", "New.\nText.")
    assert [row["authors"] for row in download(staff, book)] == ["Zoe Bell; Jane Austen"]
    assert set(book.tags.values_list("name", flat=True)) == {"classics", "young adult"}
    assert not TagVote.objects.exists()
    event = AuditEvent.objects.filter(kind="staff").latest("pk")
    assert (event.object_id, event.details[:36]) == (str(book.pk), "Change. title: =Emma → Emma, authors")


def test_rows_without_an_id_are_new_books_and_are_added_once(staff: Client, emma: Book) -> None:
    content = "﻿title;authors;isbn;tags;format\r\nMoss;Ann Lee;9780141439587;novel;ebook\r\nFern;Ann Lee;;;\r\n"
    page = upload(staff, content)
    assert "0 books would change, 2 would be added" in page
    assert Book.objects.count() == 1
    assert "2 books were added." in confirm(staff, page)
    moss, fern = Book.objects.order_by("pk")[1:]
    assert (moss.title, moss.isbn, moss.details.format) == ("Moss", "9780141439587", "ebook")
    assert list(moss.authors.all()) == list(fern.authors.all())
    assert not BookDetails.objects.filter(book=fern).exists()
    assert {event.details for event in AuditEvent.objects.filter(object_id__in=[moss.pk, fern.pk])} == {
        "Addition. Imported from a file."
    }
    again = read_errors(confirm(staff, page))  # a second click
    assert [(line, column) for line, column, _ in again] == [("2", "id"), ("3", "id")]
    assert again[0][2] == f"This is book {moss.pk}. Enter its number here to change it."
    assert Book.objects.count() == 3
    # Two clicks at once: both have read the table before either writes.
    table = read_book_table(b"title,authors\nIvy,Bob", Allowed(add=True, change=True))
    apply_book_edits(table.edits)
    with pytest.raises(BooksChanged):
        apply_book_edits(table.edits)


def test_empty_cells_of_a_new_book_are_no_changes() -> None:
    empty = [column for column in COLUMNS if column != "title"]
    content = f"title,{','.join(empty)}\nIvy{',' * len(empty)}"
    table = read_book_table(content.encode(), Allowed(add=True, change=True))
    assert [dict(edit.changes) for edit in table.edits] == [{"title": ("", "Ivy")}]


def test_errors_name_line_and_column_and_nothing_is_changed(staff: Client, emma: Book) -> None:
    lines = [
        "id,title,year,isbn,pages,language,format,description,authors,tags",
        f"{emma.pk},,0,9780439023482,0,English!,scroll,{'x' * 5001},{'A' * 301},{'t' * 201}",
        "99999,Moss,,,,,,,,",
        f"{emma.pk},Emma,,,,,,,,",
        "x,Moss,,,,,,,,",
        ",Fern,1900.5,9.78044E+12,,,,,,",
        ',Ivy,,,,,,"two',
    ]
    assert read_errors(upload(staff, "\n".join(lines)))[0][:2] == ("7", "")
    found = read_errors(upload(staff, "\n".join([*lines[:-1], ",Ivy", ",Oak,,,,,,a\0b,,", ",,1999,,,,,,,"])))
    assert [(line, column) for line, column, _ in found] == [
        ("2", "authors"), ("2", "description"), ("2", "format"), ("2", "isbn"), ("2", "language"), ("2", "pages"),
        ("2", "tags"), ("2", "title"), ("2", "year"), ("3", "id"), ("4", "id"), ("5", "id"), ("6", "isbn"),
        ("6", "year"), ("7", ""), ("8", ""), ("9", "title"),
    ]  # fmt: skip
    for content, error in (
        ("id,price\n1,2\n", "The first line needs one of the columns title,"),
        ("id,title,title\n1,a,b\n", "The column is listed twice."),
        # Quadratic time would be minutes.
        ("id" + ",id" * 400_000, "The column is listed twice."),
        ("title\n" + "Moss\n" * 2001, "The file has more than 2000 rows."),
        ("title\nMoss\nMoss\n", "The book is listed twice."),
        ("", "Choose a CSV file"),
        ("x" * 1_500_001, "Choose a CSV file"),
    ):
        assert error in upload(staff, content)
    assert list(Book.objects.values_list("title", "year")) == [("=Emma", 1815)]


def test_a_book_does_not_get_the_isbn_of_another_one(staff: Client, emma: Book) -> None:
    isbn, other = "9780439655484", "9780141439587"
    moss, fern = make_book("Moss", isbn=isbn), make_book("Fern", isbn=other)
    (error,) = read_errors(upload(staff, f"id,isbn\n{emma.pk},0-439-65548-X"))
    assert error == ("2", "isbn", f"Book {moss.pk} has this ISBN.")
    free = "9780061120084"
    found = read_errors(upload(staff, f"id,isbn\n{emma.pk},{free}\n{moss.pk},{free}"))
    assert found == [("2", "isbn", f"Book {moss.pk} has this ISBN."), ("3", "isbn", f"Book {emma.pk} has this ISBN.")]
    # Two books exchange their ISBNs.
    assert "2 books would change" in upload(staff, f"id,isbn\n{moss.pk},{other}\n{fern.pk},{isbn}")
    # Two books that already share one stay as they are.
    Book.objects.filter(pk=fern.pk).update(isbn=isbn)
    page = upload(staff, f"id,title,isbn\n{fern.pk},Fern 2,043965548x\n{moss.pk},Moss 2,{isbn}")
    assert "2 books would change" in page
    # An empty ISBN is none.
    assert "2 books would change" in upload(staff, f"id,isbn\n{fern.pk},\n{moss.pk},")


def test_a_change_meanwhile_is_not_overwritten(staff: Client, emma: Book) -> None:
    table = read_book_table(f"id,year\n{emma.pk},1900".encode(), Allowed(add=True, change=True))
    page = upload(staff, f"id,year\n{emma.pk},1900")
    Book.objects.update(year=1820)
    with pytest.raises(BooksChanged):
        apply_book_edits(table.edits)
    again = confirm(staff, page)
    assert "Books have changed since the file was checked." in again
    assert "year: 1820 → 1900" in again
    assert Book.objects.get().year == 1820


@pytest.mark.parametrize(
    ("permission", "column", "error"),
    [("add_book", "3", "You may not change books."), ("change_book", "4", "You may not add books.")],
)
def test_each_row_needs_its_permission(client: Client, emma: Book, permission: str, column: str, error: str) -> None:
    clerk = User.objects.create_user("dora", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename__in=["view_book", permission]))
    client.force_login(clerk)
    assert IMPORT in client.get(BOOKS).content.decode()
    (found,) = read_errors(upload(client, f"id,title\n\n{emma.pk},x\n,Moss"))
    assert found == (column, "id", error)


def test_only_staff_who_change_or_add_books_import_them(client: Client) -> None:
    clerk = User.objects.create_user("dora", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename="view_book"))
    client.force_login(clerk)
    assert client.get(IMPORT).status_code == client.post(IMPORT, {"content": "aQ=="}).status_code == 403
    assert IMPORT not in client.get(BOOKS).content.decode()
