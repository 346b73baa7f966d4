"""Readings of a book: dates, progress, earlier readings and undo, by the addresses of their forms."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from accounts.models import User
from catalog.models import Book
from catalog.shelves import snapshots
from catalog.shelves.models import EarlierReading, Precision, ReadingProgress, Shelf, ShelfEntry
from catalog.shelves.selectors import get_shelf_summary
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from social.models import Post
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"Accept": "application/json"}
HTMX = {"HX-Request": "true"}
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
TODAY = date(2026, 6, 1)


@pytest.fixture(autouse=True)
def noon(settings: object) -> None:
    settings.CLOCK = lambda: NOON  # type: ignore[attr-defined]


@pytest.fixture
def reader() -> User:
    return User.objects.create(username="Rita")


@pytest.fixture
def book() -> Book:
    return Book.objects.create(title="A fine book", pages=320)


@pytest.fixture
def client(reader: User, book: Book) -> Client:
    rebuild()
    client = Client()
    client.force_login(reader)
    drain_all()
    return client


@pytest.fixture
def change(client: Client, book: Book) -> Callable[..., str]:
    def send(headers: dict[str, str] | None = None, status: int = 200, page: str = "shelf", **fields: object) -> str:
        response = client.post(f"/books/{book.pk}/{page}/", fields, headers=headers or {}, follow=not headers)
        assert response.status_code == status
        return str(response.content.decode())

    return send


def state(reader: User) -> list[list[dict[str, Any]]]:
    """Return everything that SQL has about the reader's books."""
    models: list[Any] = [ShelfEntry, EarlierReading, ReadingProgress]
    return [list(model.objects.filter(user=reader).order_by("pk").values()) for model in models]


def without_tokens(text: str) -> str:
    return re.sub('value="[0-9A-Za-z]{32,}"', "", text)


def find_snapshot(text: str) -> str:
    found = re.search('name="snapshot" value="([^"]+)"', text)
    assert found
    return found[1]


def test_a_reading_ends_today_on_a_day_in_a_year_or_at_an_unknown_time(
    change: Callable[..., str], reader: User
) -> None:
    change(action="shelf", shelf="read")
    for fields, expected, finished in (
        ({"when": "today"}, (TODAY, Precision.DAY), 1),
        ({"when": "unknown", "finished_on": "2026-01-01"}, (None, Precision.DAY), 0),
        ({"when": "year", "finished_year": "2026"}, (date(2026, 12, 31), Precision.YEAR), 1),
        ({"when": "year", "finished_year": "1999"}, (date(1999, 12, 31), Precision.YEAR), 0),
        ({"finished_year": "2026"}, (date(2026, 12, 31), Precision.YEAR), 1),
        ({"when": "day", "finished_on": "2026-02-03"}, (date(2026, 2, 3), Precision.DAY), 1),
    ):
        change(action="dates", **fields)
        entry = ShelfEntry.objects.get()
        assert (entry.finished_on, entry.finished_precision) == expected
        assert get_shelf_summary(reader.pk, 2026).finished == finished
    for fields in (
        {"when": "year"},
        {"when": "year", "finished_year": "2027"},
        {"when": "year", "finished_year": "2025", "started_on": "2026-01-01"},
        {"when": "never"},
        {"when": "day"},
    ):
        change(JSON, 400, action="dates", **fields)


def test_missing_fields_keep_dates_and_an_unknown_end_is_shown(
    change: Callable[..., str], client: Client, book: Book
) -> None:
    """The order with a kept date is checked. Without scripts, a typed year counts although the box stays ticked."""
    change(action="shelf", shelf="read")
    unknown = re.compile(r'name="when" value="unknown" checked')
    assert len(unknown.findall(change(HTMX, action="shelf", shelf="read"))) == 1
    change(action="dates", started_on="2025-01-02", when="day", finished_on="2025-02-03")
    change(page="readings", action="add", started_on="2024-01-02", when="day", finished_on="2024-02-03")
    row = EarlierReading.objects.get().pk

    def read_dates() -> list[tuple[Any, ...]]:
        columns = ("started_on", "finished_on", "finished_precision")
        return [model.objects.values_list(*columns).get() for model in (ShelfEntry, EarlierReading)]

    before = read_dates()
    for fields in ({}, {"shown_when": "day"}):
        change(action="dates", **fields)
        change(page="readings", action="change", row=row, is_abandoned="1", **fields)
        assert read_dates() == before
    change(JSON, 400, action="dates", started_on="2025-03-01")
    change(JSON, 400, page="readings", action="change", row=row, when="year", finished_year="2023")
    assert read_dates() == before
    unknown_end = {"when": "unknown", "shown_when": "day", "finished_on": "2024-02-03", "finished_year": ""}
    text = change(page="readings", action="change", row=row, started_on="", **unknown_end)
    assert read_dates()[1] == (None, None, Precision.DAY)
    assert len(unknown.findall(text)) == 2  # of this reading, and in the form for another one
    typed = {"when": "unknown", "shown_when": "unknown", "finished_on": "", "finished_year": "2019"}
    change(page="readings", action="change", row=row, **typed)
    assert read_dates()[1] == (None, date(2019, 12, 31), Precision.YEAR)


def test_progress_is_noted_shown_and_leads_to_the_end(
    change: Callable[..., str], client: Client, reader: User, book: Book
) -> None:
    change(JSON, 400, action="progress", amount="7", unit="page")  # the book is on no shelf
    change(action="shelf", shelf="reading")
    for fields in (
        {"amount": ""},
        {"amount": "101", "unit": "percent"},
        {"amount": "-1"},
        {"amount": "50001"},
        {"amount": "7", "note": "x" * 281},
    ):
        change(JSON, 400, action="progress", **fields)
    for pages, beyond in (("", 321), ("100", 101)):  # of the book, and of the reader's edition
        change(action="pages", pages=pages)
        refused = change(HTMX, 400, action="progress", amount=beyond, unit="page", note="so <far>")
        assert f"This book has {beyond - 1} pages." in refused
        assert "so &lt;far&gt;" in refused
        assert re.search(r'<p role="alert" tabindex="-1" autofocus>', refused)
    change(action="pages", pages="")
    assert not ReadingProgress.objects.exists()
    text = change(HTMX, action="progress", amount="80", unit="page", note="The <storm> begins")
    assert "Page 80 of 320" in text
    assert 'value="25"' in text
    assert escape("The <storm> begins") in text
    change(action="pages", pages="160")
    drain_all()
    for page in (f"/books/{book.pk}/", "/shelves/reading/", f"/books/{book.pk}/readings/"):
        shown = client.get(page).content.decode()
        assert "Page 80 of 160" in shown
        with sql_only():
            assert without_tokens(client.get(page).content.decode()) == without_tokens(shown)
    assert "I have finished it" not in shown
    assert "I have finished it" in change(HTMX, action="progress", amount="100", unit="percent")
    change(action="shelf", shelf="read")
    history = client.get(f"/books/{book.pk}/readings/").content.decode()
    assert history.index("100%") < history.index("Page 80")
    first = ReadingProgress.objects.order_by("pk")[0]
    change(page="readings", action="delete_progress", row=first.pk)
    assert ReadingProgress.objects.get().percent == 100


def test_earlier_readings_are_added_changed_and_deleted(
    change: Callable[..., str], client: Client, reader: User, book: Book
) -> None:
    change(HTMX, 400, page="readings", action="add", when="unknown")  # the book is on no shelf
    change(action="shelf", shelf="read")
    text = change(page="readings", action="add", when="year", finished_year="2026", started_on="2026-01-02")
    change(page="readings", action="add", when="day", finished_on="2026-03-03", is_abandoned="1")
    assert 'value="2026"' in text
    assert get_shelf_summary(reader.pk, 2026).finished == 1
    drain_all()
    assert "2 earlier readings" in client.get(f"/books/{book.pk}/").content.decode()
    first, second = EarlierReading.objects.order_by("pk")
    change(page="readings", action="change", row=second.pk, when="day", finished_on="2026-03-04")
    second.refresh_from_db()
    assert (second.finished_on, second.is_finished) == (date(2026, 3, 4), True)
    assert get_shelf_summary(reader.pk, 2026).finished == 2
    change(page="readings", action="delete", row=first.pk)
    change(JSON, 404, page="readings", action="delete", row=first.pk)
    change(JSON, 400, page="readings", action="delete")
    stranger = Client()
    stranger.force_login(User.objects.create(username="Sten"))
    for action in ("delete", "change", "delete_progress"):
        fields = {"action": action, "row": second.pk, "when": "unknown"}
        assert stranger.post(f"/books/{book.pk}/readings/", fields).status_code == 404
    assert get_shelf_summary(reader.pk, 2026).finished == 1


def test_forms_that_are_sent_twice_add_one_reading_and_one_note(change: Callable[..., str], reader: User) -> None:
    change(action="shelf", shelf="reading")
    for _sent in range(2):
        change(page="readings", action="add", when="day", finished_on="2026-03-03", started_on="2026-01-02")
        change(action="progress", amount="80", unit="page", note="The storm begins")
    assert EarlierReading.objects.count() == ReadingProgress.objects.count() == 1
    assert get_shelf_summary(reader.pk, 2026).finished == 1
    for amount in ("90", "80"):
        change(action="progress", amount=amount, unit="page", note="The storm begins")
    change(page="readings", action="add", when="day", finished_on="2026-03-04", started_on="2026-01-02")
    for _time in range(2):  # of which only the year is known
        change(page="readings", action="add", when="year", finished_year="2025")
    assert (EarlierReading.objects.count(), ReadingProgress.objects.count()) == (4, 3)


def test_moves_removals_and_ratings_are_undone(
    change: Callable[..., str], client: Client, reader: User, book: Book
) -> None:
    change(action="shelf", shelf="reading")
    change(action="progress", amount="80", unit="page")
    change(action="rate", stars="3.5")
    change(action="shelf", shelf="read")
    change(action="dates", started_on="2025-01-02", when="day", finished_on="2025-02-03")
    change(page="readings", action="add", when="year", finished_year="1999")
    change(action="shelf", shelf="reading")
    for fields in (
        {"action": "shelf", "shelf": "want-to-read"},
        {"action": "rate", "stars": "1"},
        {"action": "rate", "stars": ""},
        {"action": "remove"},
    ):
        before, posts = state(reader), Post.objects.count()
        for headers in ({}, HTMX):
            snapshot = find_snapshot(change(headers, **fields))
            assert state(reader) != before
            undone = change(headers, page="shelf/undo", snapshot=snapshot)
            assert "Undone." in undone
            assert ('tabindex="-1" autofocus>Undone.' in undone) == (headers == HTMX)
            # The entry of a removed book is a new row.
            assert [[{**row, "id": 0} for row in rows] for rows in state(reader)] == [
                [{**row, "id": 0} for row in rows] for rows in before
            ]
            assert Post.objects.count() == posts
    before = state(reader)
    other = Client()
    other.force_login(User.objects.create(username="Sten"))
    assert other.post(f"/books/{book.pk}/shelf/undo/", {"snapshot": snapshot}, headers=JSON).status_code == 400
    change(JSON, 400, page="shelf/undo", snapshot=snapshot[:-1])
    assert state(reader) == before


def test_an_undo_after_later_changes_is_refused(change: Callable[..., str], reader: User) -> None:
    change(action="shelf", shelf="reading")
    rated = find_snapshot(change(action="rate", stars="3"))
    change(action="progress", amount="80", unit="page", note="Slow so far")
    before = state(reader)
    assert "This can no longer be undone." in change(JSON, 400, page="shelf/undo", snapshot=rated)
    assert state(reader) == before
    shelved = find_snapshot(change(action="remove"))
    change(action="shelf", shelf="want-to-read")
    change(JSON, 400, page="shelf/undo", snapshot=shelved)
    assert ShelfEntry.objects.get().shelf == Shelf.WANT


def test_a_rating_needs_a_star(change: Callable[..., str], reader: User) -> None:
    assert "Choose a rating." in change(JSON, 400, action="rate")
    change(action="rate", stars="")
    assert not ShelfEntry.objects.exists()


def test_an_old_snapshot_is_refused(change: Callable[..., str], reader: User, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = find_snapshot(change(action="shelf", shelf="reading"))
    monkeypatch.setattr(snapshots, "MAX_AGE_SECONDS", -1)
    change(JSON, 400, page="shelf/undo", snapshot=snapshot)
    assert ShelfEntry.objects.get().shelf == Shelf.READING
    monkeypatch.undo()
    change(page="shelf/undo", snapshot=snapshot)
    assert not ShelfEntry.objects.exists()
