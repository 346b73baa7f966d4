"""The pages of imports and the files of exports."""

import csv
import io
import json
from datetime import date, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.library import services, tasks, views
from catalog.library.models import ImportRow, LibraryImport, State, Step
from catalog.lists.models import ListedBook, Order, ReadingList
from catalog.lists.services import ListDraft, add_book, create_list, move_book
from catalog.models import Book
from catalog.readings.services import Position, add_reading, note_progress, set_pages
from catalog.shelves import services as shelves
from catalog.shelves.models import EarlierReading, Privacy, ReadingProgress, Shelf, ShelfEntry, ShelfSettings
from catalog.shelves.services import ReadingDates
from mirror.relay.drains import drain_all
from social.reviews.models import Review
from social.reviews.services import Draft, write_review
from tests.catalog.library.test_formats import GOODREADS, STORYGRAPH
from tests.catalog.library.test_imports import ROWS, snapshot
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"Accept": "application/json"}
DAY = date(2026, 5, 4)
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


def upload(client: Client, content: bytes) -> Any:
    return client.post("/library/", {"file": SimpleUploadedFile("export.csv", content)})


def test_reader_imports_a_file_and_undoes_it(books: list[Book], monkeypatch: pytest.MonkeyPatch) -> None:
    client, other = make_reader("Rita"), make_reader("Otto")
    assert 'enctype="multipart/form-data"' in client.get("/library/").content.decode()
    content = (GOODREADS + ROWS.replace("2,The Second Book (Series #2)", "20,The Third Book")).encode()
    response = upload(client, content)
    made = LibraryImport.objects.get()
    page = f"/library/{made.pk}/"
    assert (response.status_code, response.headers["Location"]) == (302, page)
    assert (made.total, made.file_name) == (6, "export.csv")
    made = LibraryImport.objects.get()
    if made.state == State.MATCHING:
        text = client.get(page).content.decode()
        assert 'hx-trigger="load delay:2s"' in text
        assert "Reload" in text
        assert '<p role="status">' in text
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
        assert 'role="status"' not in client.get(page).content.decode()  # the work ended before this visit
        assert ShelfEntry.objects.exists() == (verb == "confirm")
        assert client.get(f"{page}?step=applied").status_code == 200
    assert client.post(f"{page}discard/").headers["Location"] == "/library/"
    assert not LibraryImport.objects.exists()
    for refused in (b"", b"no table at all", (STORYGRAPH + "x," * 30).encode("utf-16")[:40]):
        assert upload(client, refused).status_code == 400
    monkeypatch.setattr(views, "MAX_FILE_BYTES", 10)
    assert upload(client, content).status_code == 400
    assert upload(Client(), content).status_code == 302
    assert not LibraryImport.objects.exists()


def test_export_is_imported_elsewhere(books: list[Book]) -> None:
    client, other = make_reader("Rita"), make_reader("Otto")
    rita, otto = User.objects.order_by("pk")
    assert json.loads(b"".join(client.get("/library/export.json")))["books"] == []
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


def test_json_has_all_that_a_reader_entered(books: list[Book]) -> None:
    client = make_reader("Rita")
    rita = User.objects.get()
    shelves.set_privacy(rita.pk, Shelf.ABANDONED, Privacy.ME)
    first, second, third = (book.pk for book in books)
    shelves.put_on_shelf(rita.pk, first, Shelf.READING, DAY)
    shelves.rate_book(rita.pk, first, 7, DAY)
    set_pages(rita.pk, first, 432)
    earlier = add_reading(rita.pk, first, ReadingDates.of_year(2001), is_finished=False)
    ReadingProgress.objects.create(user=rita, book_id=first, reading=earlier, noted_on=DAY, percent=40)
    note_progress(rita.pk, first, Position(page=12), "A slow start", DAY)
    shelves.put_on_shelf(rita.pk, third, Shelf.READ, DAY)
    made = create_list(rita.pk, ListDraft("One, two", "Counted", Privacy.FOLLOWERS, Order.ADDED))
    for pk in (second, first):
        add_book(rita.pk, made.pk, pk, DAY)
    found = json.loads(b"".join(client.get("/library/export.json")))
    assert {one["name"]: one["privacy"] for one in found["shelves"]} == {
        "want-to-read": "public", "reading": "public", "read": "public", "did-not-finish": "me",
    }  # fmt: skip
    (listed,) = found["lists"]
    assert listed.pop("created_at")
    assert listed == {
        "name": "One, two", "description": "Counted", "privacy": "followers", "order": "added",
        "books": [{"id": second, "added_on": "2026-05-04"}, {"id": first, "added_on": "2026-05-04"}],
    }  # fmt: skip
    one, two, three = found["books"]
    assert one == {
        "id": first, "title": "A title of ours", "authors": ["Nobody"], "isbn": "9780061120084", "year": None,
        "shelf": "reading", "rating": 3.5, "shelved_on": "2026-05-04", "pages": 432, "lists": ["One, two"],
        "review": "",
        "readings": [
            {"state": "reading", "started_on": "2026-05-04", "finished_on": None,
             "progress": [{"noted_on": "2026-05-04", "page": 12, "percent": None, "note": "A slow start"}]},
            {"state": "abandoned", "started_on": None, "finished_on": "2001",
             "progress": [{"noted_on": "2026-05-04", "page": None, "percent": 40, "note": ""}]},
        ],
    }  # fmt: skip
    assert (two["id"], two["shelf"], two["lists"], two["readings"]) == (second, "", ["One, two"], [])
    assert three["readings"] == [{"state": "finished", "started_on": None, "finished_on": None, "progress": []}]


def test_own_export_changes_nothing_here_and_keeps_readings_elsewhere(books: list[Book]) -> None:
    client, other = make_reader("Rita"), make_reader("Otto")
    rita, otto = User.objects.order_by("pk")
    first, second, third = (book.pk for book in books)
    shelves.put_on_shelf(rita.pk, first, Shelf.READ, DAY)
    for dates in (ReadingDates(), ReadingDates(finished_on=date(2019, 1, 2)), ReadingDates.of_year(2001)):
        add_reading(rita.pk, first, dates)
    add_reading(rita.pk, first, ReadingDates(), is_finished=False)
    shelves.put_on_shelf(rita.pk, third, Shelf.WANT, DAY)
    add_reading(rita.pk, third, ReadingDates())
    made = create_list(rita.pk, ListDraft("One, two"))
    for pk in (second, first):
        add_book(rita.pk, made.pk, pk, DAY)
    content = b"".join(client.get("/library/export.csv"))
    lines = {line["Title"]: line["Read Count"] for line in csv.DictReader(io.StringIO(content.decode()))}
    assert lines == {"A title of ours": "4", "'=The Second, Book": "0", "The Third Book": "1"}
    before = snapshot()
    for client_of, is_changed in ((client, False), (other, True)):
        upload(client_of, content)
        load = LibraryImport.objects.latest("pk")
        services.run_import(load.pk)
        services.confirm_import(load.user_id, load.pk)
        services.run_import(load.pk)
        assert set(load.rows.values_list("step", flat=True)) == {Step.APPLIED}
        assert (snapshot() != before) == is_changed
        text = client_of.get(f"/library/{load.pk}/?step=applied").content.decode()
        assert ("Nothing new in 3 rows" in text, "3 rows imported" in text) == (not is_changed, is_changed)
    readings = EarlierReading.objects.filter(user=otto).order_by("book", "pk").values_list("book", "finished_on")
    assert list(ShelfEntry.objects.filter(user=otto).order_by("book").values_list("book", "shelf", "finished_on")) == [
        (first, Shelf.READ, date(2019, 1, 2)),
        (third, Shelf.WANT, None),
    ]
    assert list(readings) == [(first, None), (first, None), (first, None), (third, None)]


def test_the_json_export_is_imported_elsewhere(books: list[Book]) -> None:
    client, other = make_reader("Rita"), make_reader("Otto")
    rita, otto = User.objects.order_by("pk")
    first, second, third = (book.pk for book in books)
    review = "1 < 2 &amp; a <b> c\n\n||The end||"
    shelves.put_on_shelf(rita.pk, first, Shelf.READ, DAY)
    shelves.set_reading_dates(rita.pk, first, {"started_on": date(2026, 1, 2), "finished_on": date(2026, 3, 4)})
    write_review(rita.pk, first, Draft(review, 7), DAY)
    add_reading(rita.pk, first, ReadingDates(date(2018, 1, 2), date(2019, 1, 2)))
    add_reading(rita.pk, first, ReadingDates.of_year(2001), is_finished=False)
    add_reading(rita.pk, first, ReadingDates())
    shelves.put_on_shelf(rita.pk, second, Shelf.READING, DAY)
    set_pages(rita.pk, second, 321)
    note_progress(rita.pk, second, Position(page=0), "", DAY - timedelta(days=2))
    note_progress(rita.pk, second, Position(page=12), "A slow start", DAY)
    old = EarlierReading.objects.get(finished_on=date(2019, 1, 2))
    ReadingProgress.objects.create(
        user=rita, book_id=first, reading=old, noted_on=date(2018, 5, 6), percent=40, note="Then"
    )
    shelves.put_on_shelf(rita.pk, third, Shelf.ABANDONED, DAY)
    add_reading(rita.pk, third, ReadingDates(finished_on=date(2020, 1, 2)))
    for name in ("Abandoned", "One, two"):
        made = create_list(rita.pk, ListDraft(name)).pk
        for day, book in enumerate((third, first, second)):
            add_book(rita.pk, made, book, DAY - timedelta(days=9 - day))
        move_book(rita.pk, made, first, 0)
    content = b"".join(client.get("/library/export.json"))
    for client_of in (client, other):
        upload(client_of, content)
        load = LibraryImport.objects.latest("pk")
        before = snapshot()
        services.run_import(load.pk)
        services.confirm_import(load.user_id, load.pk)
        services.run_import(load.pk)
        assert (snapshot() == before) is (client_of is client)
    dates = ("started_on", "finished_on", "finished_precision")
    for model, columns in (
        (ShelfEntry, ("book", "shelf", "stars", "shelved_on", "pages", *dates)),
        (ReadingProgress, ("book", "reading__finished_on", "noted_on", "page", "percent", "note")),
        (EarlierReading, ("book", "is_finished", *dates)),
        (Review, ("book", "text")),
    ):
        rows: Any = model.objects.order_by(*columns)
        mine, copied = (list(rows.filter(user=user).values_list(*columns)) for user in (rita, otto))
        assert mine
        assert mine == copied
    for name in ("Abandoned", "One, two"):
        for order in ("position", "pk"):
            listed = ListedBook.objects.filter(reading_list__name=name).order_by(order).values_list("book", "added_on")
            mine, copied = (list(listed.filter(reading_list__user=user)) for user in (rita, otto))
            assert len(mine) == 3
            assert mine == copied, (name, order)
    assert ReadingList.objects.filter(user=otto).count() == 2
    services.undo_import(otto.pk, load.pk)
    services.run_import(load.pk)
    for gone in (ShelfEntry, EarlierReading, ReadingProgress, ReadingList):
        assert not gone.objects.filter(user=otto).exists()


def test_lists_and_shelves_move_to_another_account_with_their_privacy(books: list[Book]) -> None:
    client, other = make_reader("Rita"), make_reader("Otto")
    rita, otto = User.objects.order_by("pk")
    first, second, _third = (book.pk for book in books)
    for pk, shelf in ((first, Shelf.READ), (second, Shelf.WANT)):
        shelves.put_on_shelf(rita.pk, pk, shelf, DAY)
    shelves.set_privacy(rita.pk, Shelf.READ, Privacy.ME)
    shelves.set_privacy(rita.pk, Shelf.WANT, Privacy.FOLLOWERS)
    shelves.put_on_shelf(otto.pk, second, Shelf.WANT, DAY)
    add_book(
        rita.pk, create_list(rita.pk, ListDraft("One, two", "Counted", Privacy.FOLLOWERS, Order.ADDED)).pk, first, DAY
    )
    create_list(rita.pk, ListDraft("Empty", "As yet"))
    create_list(rita.pk, ListDraft("Known", "Of Rita"))
    create_list(otto.pk, ListDraft("Known", "Of Otto", Privacy.ME))
    upload(other, b"".join(client.get("/library/export.json")))
    load = LibraryImport.objects.get()
    services.run_import(load.pk)
    assert not ShelfSettings.objects.filter(pk=otto.pk).exists()
    services.confirm_import(otto.pk, load.pk)
    services.run_import(load.pk)
    fields = ("name", "description", "privacy", "order")
    assert set(ReadingList.objects.filter(user=otto).values_list(*fields)) == {
        ("One, two", "Counted", "followers", "added"),
        ("Empty", "As yet", "public", "hand"),
        ("Known", "Of Otto", "me", "hand"),
    }
    kept = ShelfSettings.objects.get(pk=otto.pk)
    # A shelf that had books keeps its privacy.
    assert (kept.read_privacy, kept.want_privacy) == ("me", "public")
    services.undo_import(otto.pk, load.pk)
    services.run_import(load.pk)
    assert list(ReadingList.objects.filter(user=otto).values_list("name", flat=True)) == ["Known"]


def test_an_export_has_the_last_date_on_which_a_book_was_read(books: list[Book]) -> None:
    """Not the first one that is listed, nor that of a reading that the reader gave up."""
    client = make_reader("Rita")
    rita = User.objects.get()
    first, second, third = (book.pk for book in books)
    shelves.put_on_shelf(rita.pk, first, Shelf.READ, DAY)
    shelves.set_reading_dates(rita.pk, first, {"finished_on": date(2020, 1, 2)})
    add_reading(rita.pk, first, ReadingDates(finished_on=date(2021, 1, 2)))
    shelves.put_on_shelf(rita.pk, second, Shelf.WANT, DAY)
    add_reading(rita.pk, second, ReadingDates(finished_on=date(2021, 1, 2)), is_finished=False)
    shelves.put_on_shelf(rita.pk, third, Shelf.ABANDONED, DAY)
    shelves.set_reading_dates(rita.pk, third, {"finished_on": date(2022, 1, 2)})
    content = b"".join(client.get("/library/export.csv")).decode()
    lines = {line["Title"]: line["Date Read"] for line in csv.DictReader(io.StringIO(content))}
    assert lines == {"A title of ours": "2021/01/02", "'=The Second, Book": "", "The Third Book": "2022/01/02"}


def test_exports_have_reviews_of_books_on_no_shelf(books: list[Book]) -> None:
    client, other = make_reader("Rita"), make_reader("Otto")
    rita, otto = User.objects.order_by("pk")
    first, second, third = (book.pk for book in books)
    write_review(rita.pk, first, Draft("Fine, really", 8), DAY)
    shelves.remove_from_shelf(rita.pk, first)
    # The post of a rating is no review.
    shelves.rate_book(rita.pk, second, 6, DAY)
    shelves.remove_from_shelf(rita.pk, second)
    write_review(otto.pk, third, Draft("Of another reader", None), DAY)
    (found,) = json.loads(b"".join(client.get("/library/export.json")))["books"]
    assert (found["id"], found["shelf"], found["review"]) == (first, "", "Fine, really")
    content = b"".join(client.get("/library/export.csv"))
    (line,) = csv.DictReader(io.StringIO(content.decode()))
    assert (line["Title"], line["Exclusive Shelf"], line["My Review"]) == ("A title of ours", "", "Fine, really")
    # Elsewhere on this site it becomes a review, and the book is put on no shelf.
    upload(other, content)
    load = LibraryImport.objects.get()
    services.run_import(load.pk)
    services.confirm_import(load.user_id, load.pk)
    services.run_import(load.pk)
    assert not ShelfEntry.objects.filter(user=otto).exists()
    assert Review.objects.get(user=otto, book=first).text == "Fine, really"


def test_only_imports_that_begin_count(books: list[Book], settings: Settings) -> None:
    client = make_reader("Rita")
    settings.IMPORT_RATES, settings.UPLOAD_RATES = ((2, 3600),), ((6, 3600),)
    content = (GOODREADS + ROWS).encode()
    assert [upload(client, b"no table").status_code for _ in range(2)] == [400, 400]
    assert upload(client, content).status_code == 302
    # Another one is open.
    assert upload(client, content).status_code == 400
    made = LibraryImport.objects.get()
    services.run_import(made.pk)
    services.discard_import(made.user_id, made.pk)
    assert upload(client, content).status_code == 302
    LibraryImport.objects.all().delete()
    refused = upload(client, content)
    assert (refused.status_code, "Try again in" in refused.content.decode()) == (429, True)
    assert upload(client, b"no table").status_code == 429
