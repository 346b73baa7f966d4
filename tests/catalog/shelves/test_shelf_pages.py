"""The reader's own shelves, and the shelf button on the page of a book."""

import re
from datetime import UTC, date, datetime

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.models import Book
from catalog.shelves import services
from catalog.shelves.models import (
    EarlierReading,
    Precision,
    Privacy,
    ReadingGoal,
    Shelf,
    ShelfEntry,
    ShelfSettings,
)
from catalog.shelves.selectors import get_shelf_summary
from catalog.shelves.services import ReadingDates
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
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
    return Book.objects.create(title="A fine book", rating="4.10", popularity=7)


@pytest.fixture
def client(reader: User, book: Book) -> Client:
    rebuild()
    client = Client()
    client.force_login(reader)
    drain_all()
    return client


def change(client: Client, book: Book, headers: dict[str, str] | None = None, **fields: object) -> object:
    return client.post(f"/books/{book.pk}/shelf/", fields, headers=headers or {})


def test_a_book_is_shelved_rated_dated_and_removed(client: Client, reader: User, book: Book) -> None:
    response = client.post(f"/books/{book.pk}/shelf/", {"action": "shelf", "shelf": "reading"})
    assert (response.status_code, response.headers["Location"]) == (302, f"/books/{book.pk}/#shelf")
    entry = ShelfEntry.objects.get()
    assert (entry.user_id, entry.shelf, entry.shelved_on, entry.started_on) == (reader.pk, Shelf.READING, TODAY, TODAY)
    change(client, book, action="rate", stars=4)
    change(client, book, action="shelf", shelf="read")
    entry.refresh_from_db()
    assert (entry.stars, entry.shelf, entry.started_on, entry.finished_on) == (8, Shelf.READ, TODAY, TODAY)
    change(client, book, action="dates", started_on="2026-01-02", finished_on="2026-02-03")
    change(client, book, action="rate", stars="")
    entry.refresh_from_db()
    assert (entry.stars, entry.started_on, entry.finished_on) == (None, date(2026, 1, 2), date(2026, 2, 3))
    change(client, book, action="remove")
    assert not ShelfEntry.objects.exists()


def test_second_reading_begins_anew(client: Client, book: Book) -> None:
    for shelf in ("reading", "read"):
        change(client, book, action="shelf", shelf=shelf)
    change(client, book, action="dates", started_on="2020-01-02", finished_on="2020-02-03")
    for _ in range(2):  # the second press changes nothing
        change(client, book, action="shelf", shelf="reading")
        entry = ShelfEntry.objects.get()
        assert (entry.shelf, entry.started_on, entry.finished_on) == (Shelf.READING, TODAY, None)
    change(client, book, action="shelf", shelf="read")
    entry.refresh_from_db()
    assert (entry.started_on, entry.finished_on) == (TODAY, TODAY)


def test_start_of_a_reading_that_goes_on_is_kept(client: Client, book: Book) -> None:
    change(client, book, action="shelf", shelf="reading")
    change(client, book, action="dates", started_on="2026-05-02")
    for shelf in ("reading", "want-to-read", "reading"):
        change(client, book, action="shelf", shelf=shelf)
    entry = ShelfEntry.objects.get()
    assert (entry.started_on, entry.finished_on) == (date(2026, 5, 2), None)


def test_book_that_was_read_before_gets_no_date(client: Client, book: Book) -> None:
    for _ in range(2):  # the second press changes nothing
        text = change(client, book, HTMX, action="shelf", shelf="read").content.decode()  # type: ignore[attr-defined]
        entry = ShelfEntry.objects.get()
        assert (entry.shelf, entry.started_on, entry.finished_on) == (Shelf.READ, None, None)
        assert "<details open>" in text  # offers to enter the dates
    change(client, book, action="dates", finished_on="1999-07-01")
    text = change(client, book, HTMX, action="shelf", shelf="read").content.decode()  # type: ignore[attr-defined]
    entry.refresh_from_db()
    assert entry.finished_on == date(1999, 7, 1)
    assert "<details>" in text


def test_rated_book_gets_no_date_when_it_stays_on_its_shelf(client: Client, book: Book) -> None:
    change(client, book, action="rate", stars=4)
    change(client, book, action="shelf", shelf="read")
    assert ShelfEntry.objects.get().finished_on is None


def test_wanted_book_is_finished_today(client: Client, book: Book) -> None:
    for shelf in ("want-to-read", "read"):
        change(client, book, action="shelf", shelf=shelf)
    entry = ShelfEntry.objects.get()
    assert (entry.started_on, entry.finished_on) == (None, TODAY)


def test_dates_may_be_today_everywhere_on_earth(client: Client, book: Book) -> None:
    """At noon in the time zone of the site it is already tomorrow on Kiritimati."""
    change(client, book, action="shelf", shelf="read")
    change(client, book, action="dates", started_on="2026-06-02", finished_on="2026-06-02")
    assert ShelfEntry.objects.get().finished_on == date(2026, 6, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"action": "shelf"},
        {"action": "shelf", "shelf": "lost"},
        {"action": "rate", "stars": "6"},
        {"action": "rate", "stars": "0"},
        {"action": "rate", "stars": "3.25"},
        {"action": "rate", "stars": "5.5"},
        {"action": "dates", "started_on": "2026-02-02", "finished_on": "2026-01-01"},
        {"action": "dates", "started_on": "soon"},
        {"action": "dates", "started_on": "0001-01-01"},
        {"action": "dates", "started_on": "2999-12-31"},
        {"action": "dates", "finished_on": "2999-12-31"},
        {"action": "dates", "finished_on": "2026-06-03"},
    ],
)
def test_invalid_changes_are_refused(client: Client, book: Book, fields: dict[str, str]) -> None:
    for headers in ({}, JSON, HTMX):
        assert client.post(f"/books/{book.pk}/shelf/", fields, headers=headers).status_code == 400
    assert not ShelfEntry.objects.exists()


def test_an_unknown_book_is_404(client: Client, book: Book) -> None:
    assert client.post("/books/999999/shelf/", {"action": "shelf", "shelf": "read"}).status_code == 404
    assert client.post(f"/books/{2**70}/shelf/", {"action": "rate", "stars": "2"}).status_code == 404


def test_the_page_shows_each_visitor_only_their_own_entry(client: Client, book: Book) -> None:
    page, stranger = f"/books/{book.pk}/", Client()
    for _ in range(2):  # the second answer comes from the page cache
        change(client, book, action="rate", stars=5)
        mine, theirs = client.get(page).content.decode(), stranger.get(page).content.decode()
        assert 'value="5" checked' in mine
        assert "Log in to shelve, tag or review" in theirs
        assert "checked" not in theirs
        assert '<b>5.00</b><span class="sr-only"> out of 5</span>' in theirs
        assert "1 rating on Diptych" in theirs
    change(client, book, action="shelf", shelf="want-to-read")
    assert "1 reader wants to read this" in stranger.get(page).content.decode()


def test_htmx_gets_only_the_button(client: Client, book: Book) -> None:
    response = client.post(f"/books/{book.pk}/shelf/", {"action": "shelf", "shelf": "read"}, headers=HTMX)
    text = response.content.decode()
    assert text.startswith('<section class="shelf-box"')
    assert 'value="read" id="shelf-read" aria-pressed="true"' in text


def test_anonymous_visitors_are_redirected_to_the_log_in_page_and_back(client: Client, book: Book) -> None:
    response = Client().post(f"/books/{book.pk}/shelf/", {"action": "rate", "stars": "5"})
    assert response.headers["Location"].startswith("/accounts/login/?next=/accounts/resume/")
    assert Client().get("/shelves/read/").headers["Location"] == "/accounts/login/?next=/shelves/read/"
    assert Client().get("/shelves/read/", headers=JSON).status_code == 401
    assert client.get(f"/books/{book.pk}/shelf/").headers["Location"] == f"/books/{book.pk}/"
    assert client.get("/shelves/lost/").status_code == 404


def test_forms_need_a_csrf_token(reader: User, book: Book) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(reader)
    for path in (f"/books/{book.pk}/shelf/", "/shelves/goal/", "/shelves/read/privacy/"):
        assert client.post(path, {"action": "rate", "stars": "5"}).status_code == 403


def test_changes_are_rate_limited(client: Client, book: Book, settings: object) -> None:
    settings.SHELF_RATES = ((2, 60),)  # type: ignore[attr-defined]
    codes = [change(client, book, JSON, action="rate", stars=n).status_code for n in (1, 2, 3)]  # type: ignore[attr-defined]
    assert codes == [200, 200, 429]
    assert ShelfEntry.objects.get().stars == 4


def test_my_shelf_shows_books_and_the_goal_of_the_year(client: Client, reader: User, book: Book) -> None:
    services.rate_book(reader.pk, book.pk, 5, TODAY)
    services.set_reading_dates(reader.pk, book.pk, {"started_on": None, "finished_on": date(2026, 4, 1)})
    other = Book.objects.create(title="Last year's book")
    services.put_on_shelf(reader.pk, other.pk, Shelf.WANT, date(2025, 3, 1))
    services.put_on_shelf(reader.pk, other.pk, Shelf.READ, date(2025, 4, 1))
    assert "no reading goal for 2026" in client.get("/shelves/read/").content.decode()
    assert client.post("/shelves/goal/", {"books": "30"}).headers["Location"] == "/shelves/read/"
    text = client.get("/shelves/read/").content.decode()
    assert "1 of 30 books in 2026" in text
    assert text.index("A fine book") < text.index("Last year&#x27;s book")
    found = client.get("/shelves/read/", headers=JSON).json()
    assert (found["shelf"], found["privacy"], found["count"], found["next"]) == ("read", "public", 2, None)
    assert found["goal"] == {"year": 2026, "books": 30, "finished": 1}
    first = found["results"][0]
    assert (first["book"]["title"], first["stars"], first["finished_on"]) == ("A fine book", 2.5, "2026-04-01")
    client.post("/shelves/goal/", {"books": ""})
    assert not ReadingGoal.objects.exists()
    assert client.post("/shelves/goal/", {"books": "0"}).status_code == 400


def test_a_goal_is_for_the_year_that_its_page_shows(client: Client, reader: User, settings: Settings) -> None:
    settings.CLOCK = lambda: datetime(2026, 12, 31, 23, 59, tzinfo=UTC)
    assert '<input type="hidden" name="year" value="2026">' in client.get("/shelves/read/").content.decode()
    settings.CLOCK = lambda: datetime(2027, 1, 1, 0, 1, tzinfo=UTC)
    for year, books in (("2026", "30"), ("2025", "31"), ("", "32")):
        assert client.post("/shelves/goal/", {"books": books, "year": year}).status_code == 302
    assert set(ReadingGoal.objects.values_list("year", "books")) == {(2026, 30), (2027, 32)}


def test_readers_set_the_privacy_of_a_shelf(client: Client, reader: User) -> None:
    assert client.post("/shelves/reading/privacy/", {"privacy": "me"}).headers["Location"] == "/shelves/reading/"
    settings = ShelfSettings.objects.get(pk=reader.pk)
    assert (settings.want_privacy, settings.reading_privacy) == (Privacy.PUBLIC, Privacy.ME)
    assert client.get("/shelves/reading/", headers=JSON).json()["privacy"] == "me"
    assert client.post("/shelves/reading/privacy/", {"privacy": "all"}).status_code == 400


def test_my_shelf_comes_from_redis(client: Client, reader: User, book: Book) -> None:
    services.rate_book(reader.pk, book.pk, 5, TODAY)
    drain_all()
    client.get("/shelves/read/")
    with record() as seen:
        assert client.get("/shelves/read/").status_code == 200
    assert seen.round_trips <= 6
    assert seen.sql == []


def test_reading_again_keeps_the_earlier_reading(client: Client, reader: User, book: Book) -> None:
    """Of a book that was moved by mistake, which is moved back on the same day, one reading goes on."""
    for day, shelf in ((1, Shelf.READING), (9, Shelf.READ), (12, Shelf.READING), (12, Shelf.READING)):
        services.put_on_shelf(reader.pk, book.pk, shelf, date(2026, 3, day))
    earlier = EarlierReading.objects.get()
    assert (earlier.started_on, earlier.finished_on, earlier.is_finished) == (date(2026, 3, 1), date(2026, 3, 9), True)
    entry = ShelfEntry.objects.get()
    assert (entry.started_on, entry.finished_on) == (date(2026, 3, 12), None)
    for shelf in (Shelf.ABANDONED, Shelf.READING, Shelf.ABANDONED, Shelf.READ, Shelf.ABANDONED):
        services.put_on_shelf(reader.pk, book.pk, shelf, date(2026, 4, 1))
    entry.refresh_from_db()
    assert (entry.started_on, entry.finished_on) == (date(2026, 3, 12), date(2026, 4, 1))
    assert get_shelf_summary(reader.pk, 2026).finished == 1
    services.put_on_shelf(reader.pk, book.pk, Shelf.WANT, date(2026, 5, 2))
    services.put_on_shelf(reader.pk, book.pk, Shelf.READ, date(2026, 5, 3))
    assert list(EarlierReading.objects.order_by("pk").values_list("is_finished", flat=True)) == [True, False]
    assert get_shelf_summary(reader.pk, 2026).finished == 2


def test_reading_again_on_the_last_day_of_a_year_keeps_the_reading_of_that_year(reader: User, book: Book) -> None:
    services.put_on_shelf(reader.pk, book.pk, Shelf.READ, date(2026, 3, 1))
    services.set_reading_dates(reader.pk, book.pk, ReadingDates.of_year(2026)._asdict())
    services.put_on_shelf(reader.pk, book.pk, Shelf.READING, date(2026, 12, 31))
    earlier = EarlierReading.objects.get()
    assert (earlier.finished_on, earlier.finished_precision) == (date(2026, 12, 31), Precision.YEAR)


def test_the_bars_count_half_stars_below_as_shares_of_all_ratings(client: Client, book: Book) -> None:
    for name, stars in (("Ann", "4.5"), ("Bob", "4"), ("Cem", "0.5"), ("Dan", "3.5")):
        other = Client()
        other.force_login(User.objects.create_user(name))
        change(other, book, action="rate", stars=stars)
    page = client.get(f"/books/{book.pk}/").content.decode()
    table = page[page.index('<table class="plain histogram">') : page.index("</table>")]
    assert re.findall(r'class="number">(\d)<', table) == ["0", "2", "1", "0", "1"]
    assert re.findall(r'<rect width="(\d+)"', table) == ["0", "50", "25", "0", "25"]
    assert re.findall(r'aria-hidden="true">(\d)<', table) == list("54321")
    # Each links to its reviews, or to those with half a star more or less if no rating has its own number.
    assert re.findall(r'\?stars=([\d.]+)"', table) == ["5", "4", "3.5", "2", "0.5"]
    filtered = client.get(f"/books/{book.pk}/reviews/?stars=4").content.decode()
    assert re.findall(r'\?stars=([\d.]+)">', filtered[filtered.index("newest first") :])[:2] == ["3.5", "4.5"]
