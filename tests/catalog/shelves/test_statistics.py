"""The statistics of a year equal plain SQL over random histories of a reader, and follow the privacy of shelves."""

import re
from calendar import month_abbr
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import User
from catalog.models import Author, Book, Tag, Tagging
from catalog.readings import load_statistics
from catalog.readings import services as readings
from catalog.readings.statistics import list_years
from catalog.shelves import services
from catalog.shelves.models import Privacy, Shelf
from catalog.shelves.selectors import get_shelf_summary
from catalog.shelves.services import ReadingDates
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"Accept": "application/json"}
FIRST = date(2024, 11, 1)
YEARS = (2024, 2025, 2026)
BOOKS = 5

DAYS = st.integers(0, 500).map(lambda days: FIRST + timedelta(days=days))
ENDS = st.one_of(
    st.just(ReadingDates()),
    DAYS.map(lambda day: ReadingDates(None, day)),
    st.sampled_from(YEARS).map(ReadingDates.of_year),
)
BOOK = st.integers(0, BOOKS - 1)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("shelve"), BOOK, st.sampled_from(list(Shelf)), DAYS),
        st.tuples(st.just("rate"), BOOK, st.sampled_from([None, 1, 7, 10]), DAYS),
        st.tuples(st.just("date"), BOOK, ENDS),
        st.tuples(st.just("add"), BOOK, ENDS, st.booleans()),
        st.tuples(st.just("pages"), BOOK, st.sampled_from([None, 100, 700])),
        st.tuples(st.just("remove"), BOOK),
    ),
    min_size=20,  # short histories have few readings in one year
    max_size=40,
)
READINGS = """
    WITH readings AS (
        SELECT e.book_id, e.finished_on, e.finished_precision, COALESCE(e.pages, b.pages) AS pages, e.stars
          FROM catalog_shelfentry e JOIN catalog_book b ON b.id = e.book_id
         WHERE e.user_id = %(user)s AND e.shelf = 'read'
        UNION ALL
        SELECT r.book_id, r.finished_on, r.finished_precision, COALESCE(e.pages, b.pages), e.stars
          FROM catalog_earlierreading r JOIN catalog_book b ON b.id = r.book_id
          JOIN catalog_shelfentry e ON e.user_id = r.user_id AND e.book_id = r.book_id
         WHERE r.user_id = %(user)s AND r.is_finished
    ), found AS (SELECT * FROM readings WHERE finished_on BETWEEN %(first)s AND %(last)s),
    books AS (SELECT DISTINCT book_id, pages, stars FROM found)
"""

NAMES = """
    SELECT {0}.name, COUNT(*) FROM books JOIN {1} l ON l.book_id = books.book_id
      JOIN catalog_{0} {0} ON {0}.id = l.{0}_id {2} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10
"""
LENGTH = """
    SELECT b.id, b.title, books.pages FROM books JOIN catalog_book b ON b.id = books.book_id
     WHERE books.pages IS NOT NULL ORDER BY 3 {}, 1 LIMIT 1
"""


def ask(user: int, year: int, select: str) -> list[tuple[Any, ...]]:
    values: dict[str, Any] = {"user": user, "first": date(year, 1, 1), "last": date(year, 12, 31)}
    with connection.cursor() as cursor:
        cursor.execute(READINGS + select, values)
        return cursor.fetchall()


def find_expected(user: int, year: int) -> dict[str, Any]:
    month = {"sqlite": "CAST(strftime('%%m', finished_on) AS integer)", "postgresql": "EXTRACT(MONTH FROM finished_on)"}
    numbers = f"CASE finished_precision WHEN 'year' THEN 0 ELSE {month[connection.vendor]} END"
    months = ask(user, year, f"SELECT {numbers}, COUNT(*), SUM(COALESCE(pages, 0)) FROM found GROUP BY 1")
    by_month = {int(number): (number, books, pages) for number, books, pages in months}
    return {
        "books": ask(user, year, "SELECT COUNT(*) FROM found")[0][0],
        "pages": ask(user, year, "SELECT COALESCE(SUM(pages), 0) FROM found")[0][0],
        "unknown_pages": ask(user, year, "SELECT COUNT(*) FROM found WHERE pages IS NULL")[0][0],
        "months": [by_month.get(number, (number, 0, 0)) for number in range(13)],
        "stars": dict(
            ask(user, year, "SELECT stars, COUNT(*) FROM books WHERE stars IS NOT NULL GROUP BY 1 ORDER BY 1 DESC")
        ),
        "tags": ask(user, year, NAMES.format("tag", "catalog_book_tags", "WHERE NOT tag.hidden")),
        "authors": ask(user, year, NAMES.format("author", "catalog_book_authors", "")),
        "longest": next(iter(ask(user, year, LENGTH.format("DESC"))), None),
        "shortest": next(iter(ask(user, year, LENGTH.format("ASC"))), None),
    }


class History:
    """A reader with books, to whom operations of ``OPERATIONS`` happen."""

    def __init__(self) -> None:
        self.reader = User.objects.create(username="Rita")
        authors = Author.objects.bulk_create(Author(name=name) for name in ("Ann", "Bob"))
        tags = Tag.objects.bulk_create(Tag(name=name, hidden=name == "owned") for name in ("ruby", "web", "owned"))
        self.books = [Book.objects.create(title=f"Book {n}", pages=n * 100 or None) for n in range(BOOKS)]
        for number, book in enumerate(self.books):
            book.authors.set(authors[: number % 3])
            Tagging.objects.bulk_create(Tagging(book=book, tag=tag) for tag in tags[number % 2 :])

    def clear(self) -> None:
        for book in self.books:
            services.remove_from_shelf(self.reader.pk, book.pk)

    def run(self, kind: str, book: int, *values: Any) -> None:
        user, pk = self.reader.pk, self.books[book].pk
        match kind:
            case "shelve":
                services.put_on_shelf(user, pk, *values)
            case "rate":
                services.rate_book(user, pk, *values)
            case "date":
                services.set_reading_dates(user, pk, values[0]._asdict())
            case "pages":
                readings.set_pages(user, pk, *values)
            case "remove":
                services.remove_from_shelf(user, pk)
            case "add":
                with suppress(readings.NotPossible):
                    readings.add_reading(user, pk, values[0], is_finished=values[1])


@pytest.fixture
def history() -> History:
    return History()


def test_statistics_equal_sql_over_random_histories(history: History) -> None:
    rebuild()

    # Without shrinking, which would take minutes.
    @settings(max_examples=20, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(OPERATIONS)
    def check(operations: list[tuple[Any, ...]]) -> None:
        history.clear()
        for operation in operations:
            history.run(*operation)
        drain_all()
        user = history.reader.pk
        for year in YEARS:
            found = load_statistics(user, year)._asdict()
            assert {name: found[name] for name in find_expected(user, year)} == find_expected(user, year)
            # The goal's number comes from Redis.
            assert get_shelf_summary(user, year).finished == found["books"]
        assert {year for year in YEARS if load_statistics(user, year).books} == set(list_years(user))

    check()


def test_statistics_follow_the_privacy_of_shelves(history: History, settings: Any) -> None:
    settings.CLOCK = lambda: datetime(2026, 6, 1, 12, tzinfo=UTC)
    reader = history.reader
    services.set_goal(reader.pk, 2026, 30)
    for book, shelf in ((1, Shelf.READ), (2, Shelf.READ), (2, Shelf.READING)):
        history.run("shelve", book, Shelf.WANT, date(2026, 2, 1))
        history.run("shelve", book, shelf, date(2026, 3, 1 + book))
    history.run("shelve", 2, Shelf.READING, date(2026, 5, 1))
    rebuild()
    owner, stranger = Client(), Client()
    owner.force_login(reader)
    drain_all()
    own, public, picture = "/shelves/statistics/", "/u/Rita/shelves/statistics/", "/u/Rita/shelves/2026.png"

    def count_books(client: Client, page: str) -> int:
        return int(client.get(page, headers=JSON).json()["books"])

    assert (count_books(owner, own), count_books(stranger, public)) == (2, 2)
    assert "2 of 30 books in 2026" in owner.get(own).content.decode()
    months = re.findall(r'(?:<b>(\d+)</b>)?<svg height="(\d+)".*</svg>(\w+)</li>', owner.get(own).content.decode())
    assert months == [("2" if name == "Mar" else "", "202" if name == "Mar" else "2", name) for name in month_abbr[1:]]
    text = stranger.get(public).content.decode()
    assert re.findall("<dt>(.+?)</dt><dd>(.+?)</dd>", text)[:2] == [("Books", "2"), ("Pages", "300")]
    assert "of 30" not in text
    assert stranger.get(picture).content.startswith(b"\x89PNG")
    with sql_only():
        assert stranger.get(public).content == text.encode()
    # The earlier reading of a book that is now on a private shelf does not count for others.
    services.set_privacy(reader.pk, Shelf.READING, Privacy.ME)
    assert (count_books(owner, own), count_books(stranger, public)) == (2, 1)
    services.set_privacy(reader.pk, Shelf.READ, Privacy.ME)
    assert count_books(owner, public) == 2
    for page in (public, picture):
        assert stranger.get(page).status_code == 404
        assert owner.get(page).status_code == 200
    assert count_books(owner, f"{own}?year=1999") == 0
    assert owner.get(f"{own}?year=x").status_code == 200
    assert Client().get(own).status_code == 302
    assert owner.get("/u/Rita/shelves/0.png").status_code == 404
