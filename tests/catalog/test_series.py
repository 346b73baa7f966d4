"""Series: read from titles, and linked in order from Redis or from SQL."""

import pytest
from django.test import Client

from catalog.books.series import parse_series, split_title
from catalog.books.volumes import SeriesPlace, find_series_places
from catalog.models import Book
from catalog.selectors import get_book
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import own_copy, warm_up

__all__ = ["own_copy"]
pages = pytest.mark.django_db(transaction=True)

# title, short title, and for each series: name, number, first, last, is_single
TABLE = [
    ("Emma", "Emma", []),
    ("The Hunger Games (The Hunger Games, #1)", "The Hunger Games", [("The Hunger Games", "1", 1, 1, True)]),
    ("Boxed Set (The Hunger Games, #1-3)", "Boxed Set", [("The Hunger Games", "1-3", 1, 3, False)]),
    ("Glass (Salt, #1–3)", "Glass", [("Salt", "1–3", 1, 3, False)]),
    ("Stories (Divergent, #0.1 - 0.4)", "Stories", [("Divergent", "0.1 - 0.4", 0.1, 0.4, False)]),
    ("Free Four (Divergent, #0.5)", "Free Four", [("Divergent", "0.5", 0.5, 0.5, True)]),
    ("Mort (Death, #1; Discworld, #4)", "Mort", [("Death", "1", 1, 1, True), ("Discworld", "4", 4, 4, True)]),
    ("Mort (Discworld, #4; Rincewind #1)", "Mort", [("Discworld", "4", 4, 4, True), ("Rincewind", "1", 1, 1, True)]),
    ("Snow (Hunters #9, Weres #3)", "Snow", [("Hunters", "9", 9, 9, True), ("Weres", "3", 3, 3, True)]),
    ("Snow (Hunters, #9; Hunters #9)", "Snow", [("Hunters", "9", 9, 9, True)]),
    ("Tower, Part 2 (Sorrow, and Thorn, #3; Part 2)", "Tower, Part 2", [("Sorrow, and Thorn", "3", 3, 3, True)]),
    ("Steel (Ice, #3: Part 1 of 2)", "Steel", [("Ice", "3: Part 1 of 2", 3, 3, False)]),
    ("Prince (Selection, #0.5, 2.5)", "Prince", [("Selection", "0.5, 2.5", 0.5, 0.5, False)]),
    ("Judy (Judy Moody,# 1)", "Judy", [("Judy Moody", "1", 1, 1, True)]),
    ("Ranma ½ (Ranma ½ (US 2nd), #1) ", "Ranma ½", [("Ranma ½ (US 2nd)", "1", 1, 1, True)]),
    ("Peter Pan (A Little Golden Book)", "Peter Pan (A Little Golden Book)", []),
    ("Nancy Drew: #1-64", "Nancy Drew: #1-64", []),
    ("(Alone, #1)", "(Alone, #1)", []),
    ("Nameless (#1)", "Nameless", []),
    ("Numberless (Salt, #)", "Numberless", []),
    ("Huge (Salt, #1234567)", "Huge", [("Salt", "1234567", 123456, 123456, False)]),
    ("Unbalanced (Salt, #1))", "Unbalanced (Salt, #1))", []),
    ("Open (Salt, #1", "Open (Salt, #1", []),
]


@pytest.mark.parametrize(("title", "short", "series"), TABLE)
def test_titles_name_series(title: str, short: str, series: list[tuple[object, ...]]) -> None:
    assert split_title(title)[0] == short
    assert [tuple(one) for one in parse_series(title)] == series


def test_different_spellings_are_one_series() -> None:
    first, second = (parse_series(title)[0] for title in ("A (The Salt Road, #1)", "B (SALT  Road #2)"))
    assert first.normalised_name == second.normalised_name


@pytest.fixture
def volumes() -> dict[str, Book]:
    """A series that another author continues together with the first one, and another author's series of that name."""
    made = {
        "half": make_book("Half (Salt, #0.5)", authors="Ann"),
        "one": make_book("One (Salt, #1; Sea, #3)", authors="Ann,Illustrator"),
        "two": make_book("Two (The Salt, #2)", authors="Ann"),
        "box": make_book("Box (Salt, #1-2)", authors="Ann"),
        "three": make_book("Three (Salt, #3)", authors="Bob,Ann"),
        "other": make_book("Other (Salt, #2)", authors="Zed"),
        "sea": make_book("Sea (Sea, #4)", authors="Ann"),
        "plain": make_book("Plain", authors="Ann"),
        "nobody": make_book("Nobody (Salt, #1)"),
    }
    warm_up()
    return made


def _places(book: Book) -> list[SeriesPlace]:
    """Return a book's places in its series from Redis, after checking that SQL gives the same."""
    record_of_it = get_book(book.pk)
    assert record_of_it is not None
    with record() as seen:
        found = find_series_places(record_of_it)
    assert (seen.round_trips, seen.sql) == (int(bool(found and book.authors.exists())), [])
    with sql_only():
        assert find_series_places(record_of_it) == found
    return found


def _neighbours(book: Book) -> list[tuple[str | None, str | None]]:
    return [
        (place.previous and place.previous.short_title, place.next and place.next.short_title)
        for place in _places(book)
    ]


@pages
@pytest.mark.usefixtures("own_copy")
def test_redis_and_sql_link_volumes_in_order(volumes: dict[str, Book]) -> None:
    expected = {
        "half": [(None, "One")],
        "one": [("Half", "Two"), (None, "Sea")],
        "two": [("One", "Three")],
        "box": [("Half", "Three")],
        "three": [("Two", None)],
        "other": [(None, None)],
        "sea": [("One", None)],
        "plain": [],
        "nobody": [(None, None)],
    }
    assert {name: _neighbours(book) for name, book in volumes.items()} == expected


@pages
@pytest.mark.usefixtures("own_copy")
def test_series_follow_bulk_writes(volumes: dict[str, Book]) -> None:
    Book.objects.filter(pk=volumes["plain"].pk).update(title="Plain (Salt, #1.5)")
    Book.objects.filter(pk=volumes["two"].pk).update(title="Two")
    drain_all()
    assert _neighbours(volumes["one"])[0] == ("Half", "Plain")
    assert _neighbours(volumes["two"]) == []
    volumes["three"].authors.set([])
    drain_all()
    assert _neighbours(Book.objects.get(pk=volumes["plain"].pk)) == [("One", None)]
    assert verify(["book"]) == []


@pages
@pytest.mark.usefixtures("own_copy")
def test_the_page_of_a_volume_links_to_its_neighbours(client: Client, volumes: dict[str, Book]) -> None:
    html = client.get(f"/books/{volumes['two'].pk}/").content.decode()
    assert '<h1 dir="auto">Two</h1>' in html
    author = volumes["two"].authors.get().pk
    assert f'Book 2 of <a href="/books/series/{author}/salt/"><bdi>The Salt</bdi></a>' in html
    assert f'rel="prev" href="/books/{volumes["one"].pk}/"' in html
    assert f'rel="next" href="/books/{volumes["three"].pk}/"' in html
    said = client.get(f"/books/{volumes['one'].pk}/", headers={"Accept": "application/json"}).json()
    assert said["title"] == "One (Salt, #1; Sea, #3)"
    assert said["series"] == [{"name": "Salt", "number": "1"}, {"name": "Sea", "number": "3"}]
    box = client.get(f"/books/{volumes['box'].pk}/").content.decode()
    assert f'Books 1-2 of <a href="/books/series/{author}/salt/"><bdi>Salt</bdi></a>' in box


@pages
@pytest.mark.usefixtures("own_copy")
def test_cards_show_the_series_below_the_authors(client: Client, volumes: dict[str, Book]) -> None:
    html = client.get("/books/").content.decode()
    title = html.index(f'<a href="/books/{volumes["half"].pk}/" title="Half">Half</a></h3>')
    by = html.index('<p class="card-by">', title)
    series = html.index('<p class="card-series" dir="auto">#0.5 Salt</p>')
    assert title < by < series < html.index('<div class="card-end">', title)
    assert '<p class="card-series" dir="auto">#1 Salt; #3 Sea</p>' in html
    rows = client.get("/").content.decode()  # one line more would put a hole into all other books of a row
    assert f'<a href="/books/{volumes["half"].pk}/" title="Half">' in rows
    assert "card-series" not in rows
