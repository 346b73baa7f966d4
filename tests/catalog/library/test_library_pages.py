"""The pages of imports and the files of exports."""

import csv
import io
import json
from datetime import date

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User
from catalog.library import services, tasks, views
from catalog.library.models import ImportRow, LibraryImport, State, Step
from catalog.lists.models import ReadingList
from catalog.models import Book
from catalog.shelves.models import EarlierReading, Shelf, ShelfEntry
from mirror.relay.drains import drain_all
from tests.catalog.library.test_formats import GOODREADS, STORYGRAPH
from tests.catalog.library.test_imports import ROWS
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"Accept": "application/json"}
HTMX = {"HX-Request": "true"}


def make_reader(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create(username=name))
    drain_all()
    return client


@pytest.fixture
def books() -> list[Book]:
    made = [
        make_book("A title of ours", isbn="9780061120084", authors="Nobody"),
        make_book("=The Second, Book", authors="Ann Lee, Bo Ray", year=1990, goodreads_id=2),
        make_book("The Third Book", authors="Adele Lee"),
    ]
    rebuild()
    drain_all()
    return made


def upload(client: Client, content: bytes, **options: object) -> object:
    return client.post("/library/", {"file": SimpleUploadedFile("export.csv", content)}, **options)  # type: ignore[arg-type]


def test_reader_imports_a_file_and_undoes_it(books: list[Book], monkeypatch: pytest.MonkeyPatch) -> None:
    client, other = make_reader("Rita"), make_reader("Otto")
    assert 'enctype="multipart/form-data"' in client.get("/library/").content.decode()
    content = (GOODREADS + ROWS.replace("2,The Second Book (Series #2)", "20,The Third Book")).encode()
    response = upload(client, content)
    made = LibraryImport.objects.get()
    page = f"/library/{made.pk}/"
    assert (response.status_code, response.headers["Location"]) == (302, page)  # type: ignore[attr-defined]
    assert (made.total, made.file_name) == (6, "export.csv")
    made = LibraryImport.objects.get()
    if made.state == State.MATCHING:
        text = client.get(page).content.decode()
        assert 'hx-trigger="load delay:2s"' in text
        assert "Reload" in text
        assert "HX-Refresh" not in client.get(page, headers=HTMX).headers
        tasks.run(made.pk)
    assert client.get(page, headers=HTMX).headers["HX-Refresh"] == "true"
    assert client.get(page, headers=JSON).json()["counts"]["pending"] == 0
    text = client.get(page).content.decode()
    assert "None of these" in text
    ImportRow.objects.filter(step=Step.DOUBT).update(candidates=[books[1].pk])
    doubt = ImportRow.objects.filter(step=Step.DOUBT)[0]
    client.post(f"{page}choose/", {"row": doubt.number, "book": books[1].pk})
    doubt.refresh_from_db()
    assert (doubt.step, doubt.book_id) == (Step.FOUND, books[1].pk)
    lines = list(csv.DictReader(io.StringIO(b"".join(client.get(f"{page}missing.csv")).decode())))
    assert "Unknown everywhere" in [line["Title"] for line in lines]
    for address in ("", "missing.csv"):
        assert other.get(f"{page}{address}").status_code == 404
    for verb in ("confirm", "undo", "discard"):
        assert other.post(f"{page}{verb}/").status_code == 404
    for verb, state in (("confirm", State.DONE), ("undo", State.UNDONE)):
        assert client.post(f"{page}{verb}/").status_code == 302
        tasks.run_all()
        tasks.run(made.pk)
        made.refresh_from_db()
        assert made.state == state
        assert ShelfEntry.objects.exists() == (verb == "confirm")
        assert client.get(f"{page}?step=applied").status_code == 200
    assert client.post(f"{page}discard/").headers["Location"] == "/library/"
    assert not LibraryImport.objects.exists()
    for refused in (b"", b"no table at all", (STORYGRAPH + "x," * 30).encode("utf-16")[:40]):
        assert upload(client, refused).status_code == 400  # type: ignore[attr-defined]
    monkeypatch.setattr(views, "MAX_FILE_BYTES", 10)
    assert upload(client, content).status_code == 400  # type: ignore[attr-defined]
    assert upload(Client(), content).status_code == 302  # type: ignore[attr-defined]
    assert not LibraryImport.objects.exists()


def test_export_is_imported_elsewhere(books: list[Book]) -> None:
    client, other = make_reader("Rita"), make_reader("Otto")
    rita, otto = User.objects.order_by("pk")
    assert json.loads(b"".join(client.get("/library/export.json"))) == []
    rows = (
        '1,A title of ours,Nobody,,,,9780061120084,4,,,,,,,2021/03/04,2020/01/02,"old, fun",,read,'
        '"=Fine, ""really""",,,1,0\n'
        "2,x,,,,,,5,,,,,,,2019,2020/01/02,,,did-not-finish,,,,1,0\n"
        "3,The Third Book,Adele Lee,,,,,0,,,,,,,,2020/01/02,,,to-read,,,,0,0\n"
    )
    for client_of, content in ((client, (GOODREADS + rows).encode()), (other, b"")):
        if not content:
            content = b"".join(client.get("/library/export.csv"))
            header, *lines = csv.reader(io.StringIO(content.decode()))
            assert ",".join(header) == GOODREADS.strip()
            assert len(lines) == 3
        upload(client_of, content)
        made = LibraryImport.objects.latest("pk")
        services.run_import(made.pk)
        services.confirm_import(made.user_id, made.pk)
        services.run_import(made.pk)
    fields = ("book", "shelf", "stars", "shelved_on", "finished_on", "finished_precision")
    copies = [list(ShelfEntry.objects.filter(user=user).order_by("book").values_list(*fields)) for user in (rita, otto)]
    assert copies[0] == copies[1]
    assert copies[0][0] == (books[0].pk, Shelf.READ, 8, date(2020, 1, 2), date(2021, 3, 4), "day")
    assert copies[0][1] == (books[1].pk, Shelf.ABANDONED, 10, date(2020, 1, 2), date(2019, 12, 31), "year")
    assert sorted(ReadingList.objects.filter(user=otto).values_list("name", flat=True)) == ["fun", "old"]
    EarlierReading.objects.create(user=rita, book=books[0], finished_on=date(2001, 2, 3))
    ShelfEntry.objects.filter(user=rita, book=books[0]).update(stars=7)
    found = json.loads(b"".join(client.get("/library/export.json")))
    assert [one["title"] for one in found] == [book.title for book in books]
    assert {name: found[0][name] for name in ("isbn", "authors", "rating", "lists", "readings")} == {
        "isbn": "9780061120084",
        "authors": ["Nobody"],
        "rating": 3.5,
        "lists": ["fun", "old"],
        "readings": [
            {"started_on": None, "finished_on": "2021-03-04"},
            {"started_on": None, "finished_on": "2001-02-03"},
        ],
    }
