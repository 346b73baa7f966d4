"""The pages of the catalogue: HTML and JSON, costs, and answers to bad input."""

from html import unescape
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import translation
from pytest_django.fixtures import Settings

from catalog.listing.results import PAGE_SIZE
from catalog.models import Book
from mirror.redis.clients import breaker
from mirror.redis.recorder import Recording, record
from mirror.relay.sql_only import sql_only
from shop.pagecache.store import clear_copies
from tests.support.catalog.make import make_book, make_books
from tests.support.catalog.warm import own_copy, warm_up
from tests.support.servers import RedisServer
from tests.support.timeouts import hung
from tests.support.warm_mirrors import rebuild

__all__ = ["own_copy"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_copy")]
JSON = "application/json"
LARGEST = 2**63 - 1


@pytest.fixture
def shelf() -> list[Book]:
    """More than a page of books about cats, and one about dogs."""
    cats = [Book(title=f"Cat {n:02}", popularity=n) for n in range(PAGE_SIZE + 5)]
    books = [*make_books(cats, tags="cats pets", authors="Ann, Bob"), make_book("Dog", tags="dogs pets")]
    warm_up()
    return books


def _get(client: Client, url: str, accept: str = "text/html", **headers: str) -> tuple[Any, Recording]:
    with record() as seen:
        response = client.get(url, headers={"Accept": accept, **headers})
    return response, seen


def _is_json(response: HttpResponse) -> bool:
    return response.headers["Content-Type"] == JSON


def test_the_list_costs_one_round_trip(client: Client, shelf: list[Book]) -> None:
    _get(client, "/books/?q=cats")
    response, seen = _get(client, "/books/?q=cats")
    assert response.status_code == 200
    assert (seen.round_trips, seen.sql) == (1, [])
    html = response.content.decode()
    assert f"{PAGE_SIZE + 5} books" in html
    assert "Cat 24" in html
    assert "Cat 04" not in html


@pytest.mark.parametrize(("currency", "sign"), [("EUR", "€"), ("GBP", "£"), ("CHF", "CHF")])
def test_empty_filters_show_what_they_take(
    client: Client, shelf: list[Book], settings: Settings, currency: str, sign: str
) -> None:
    settings.SHOP_CURRENCY = currency
    html = client.get("/books/").content.decode()
    assert (html.count('placeholder="year"'), html.count(f'placeholder="{sign}"')) == (2, 2)


@pytest.mark.parametrize("code", ["eng", "en-US", "en"])
def test_a_book_page_names_the_language_for_every_spelling_of_its_code(client: Client, code: str) -> None:
    book = make_book("Dog")
    Book.objects.filter(pk=book.pk).update(language=code)
    assert "<dd>English</dd>" in client.get(f"/books/{book.pk}/").content.decode()


def test_the_list_in_json_follows_the_contract(client: Client, shelf: list[Book]) -> None:
    response, seen = _get(client, "/books/?q=cats", JSON)
    assert (seen.round_trips, seen.sql) == (1, [])
    assert _is_json(response)
    found = response.json()
    assert found["count"] == PAGE_SIZE + 5
    assert len(found["results"]) == PAGE_SIZE
    newest = shelf[PAGE_SIZE + 4]
    expected = {"id": newest.pk, "title": "Cat 24", "authors": ["Ann", "Bob"], "tags": ["cats", "pets"]}
    assert found["results"][0].items() >= expected.items()
    assert found["facets"] == [{"name": "pets", "count": PAGE_SIZE + 5}]


def test_links_to_the_next_page_lead_to_the_end(client: Client, shelf: list[Book]) -> None:
    for sort in ("", "title", "newest"):
        titles: list[str] = []
        url: str | None = f"/books/?q=pets&sort={sort}"
        while url:
            response, seen = _get(client, url, JSON)
            assert (seen.round_trips, seen.sql) == (1, [])
            titles += [book["title"] for book in response.json()["results"]]
            url = response.json()["next"]
        assert sorted(titles) == sorted(book.title for book in shelf)


def test_a_book_page_costs_six_round_trips_and_no_sql(client: Client, shelf: list[Book]) -> None:
    rebuild(["post", "book_posts", "shelf_entry", "ranked_review"])
    response, seen = _get(client, shelf[0].get_absolute_url())
    assert response.status_code == 200
    # The rank; the book with its extras, the recorded view, the readers of the book, and the empty lists of reviews and
    # posts.
    assert (seen.round_trips, seen.sql) == (6, [])
    assert "Cat 00" in response.content.decode()


def test_a_book_in_json_is_its_record(client: Client, shelf: list[Book]) -> None:
    response, seen = _get(client, shelf[0].get_absolute_url(), JSON)
    assert (seen.round_trips, seen.sql) == (2, [])  # the book, and the recorded view
    assert _is_json(response)
    assert response.json().items() >= {"id": shelf[0].pk, "title": "Cat 00", "tags": ["cats", "pets"]}.items()


# The page cache reads the rank.
@pytest.mark.parametrize(("accept", "trips"), [("text/html", 2), (JSON, 1)])
def test_an_unknown_book_is_404_and_costs_no_sql(client: Client, shelf: list[Book], accept: str, trips: int) -> None:
    for pk in ("987654321", "0", str(LARGEST), str(LARGEST + 1), "9" * 100, "9" * 5000):
        response, seen = _get(client, f"/books/{pk}/", accept)
        assert response.status_code == 404, pk
        assert seen.round_trips <= trips, pk
        assert seen.sql == [], pk
        assert response.headers["Content-Type"].startswith(accept), pk


def test_an_unknown_book_is_an_error_in_json(client: Client, shelf: list[Book]) -> None:
    response, _ = _get(client, "/books/987654321/", JSON)
    assert response.json() == {"error": {"message": "Book not found."}}
    assert "Accept" in response.headers["Vary"]


@pytest.mark.parametrize(
    ("q", "position", "length"),
    [("ruby &", 5, 1), ("((", 1, 1), ("a" * 10_000, 2000, 8000), ('x "', 2, 1), ("a\0", 1, 1)],
)
def test_an_invalid_query_is_400_and_points_at_the_place(client: Client, q: str, position: int, length: int) -> None:
    with record() as seen:
        response = client.get("/books/", {"q": q}, headers={"Accept": JSON})
    assert response.status_code == 400
    assert (seen.round_trips, seen.sql) == (0, [])
    error = response.json()["error"]
    assert (error["position"], error["length"]) == (position, length)
    assert error["message"]
    assert client.get("/books/", {"q": q}).status_code == 400


def test_a_thousand_terms_are_refused(client: Client) -> None:
    for q in ("&".join(["a"] * 1000), " ".join(f"t{n}" for n in range(1000)), "-" * 1999 + "a", "(" * 999 + "a"):
        response = client.get("/books/", {"q": q}, headers={"Accept": JSON})
        assert response.status_code == 400
        assert response.json()["error"]["message"]


def test_errors_are_translated(client: Client) -> None:
    with translation.override("zh-hans"):
        expected = translation.gettext("This opening bracket has no closing bracket.")
    response = client.get("/books/?q=(a", headers={"Accept": JSON, "Accept-Language": "zh-hans"})
    assert response.json()["error"]["message"] == expected


def test_a_tampered_cursor_means_the_first_page(client: Client, shelf: list[Book]) -> None:
    first = _get(client, "/books/?q=cats", JSON)[0].json()
    for after in ("nonsense", "W10:x", "%00", "%FF", "a" * 5000):
        response, _ = _get(client, f"/books/?q=cats&after={after}", JSON)
        assert response.json() == first, after


def test_a_cursor_with_one_changed_letter_means_the_first_page(client: Client, shelf: list[Book]) -> None:
    first = _get(client, "/books/?q=cats", JSON)[0].json()
    changed = first["next"][:-1] + ("A" if first["next"][-1] != "A" else "B")
    assert _get(client, changed, JSON)[0].json() == first


def test_an_unknown_order_falls_back_to_the_default(client: Client, shelf: list[Book]) -> None:
    expected = _get(client, "/books/?q=cats", JSON)[0].json()["results"]
    assert _get(client, "/books/?q=cats&sort=colour", JSON)[0].json()["results"] == expected


def test_head_is_answered_like_get_without_the_content(client: Client, shelf: list[Book]) -> None:
    for url in ("/books/", "/books/?q=((", shelf[0].get_absolute_url(), "/books/987654321/"):
        for accept in ("text/html", JSON):
            response = client.head(url, headers={"Accept": accept})
            got = client.get(url, headers={"Accept": accept})
            assert response.status_code == got.status_code
            assert response.headers["Content-Type"] == got.headers["Content-Type"]
            assert response.content == b""


def test_pages_are_read_only(client: Client) -> None:
    for url in ("/books/", "/books/1/"):
        for method in (client.post, client.put, client.delete):
            assert method(url).status_code == 405


@pytest.mark.parametrize(
    ("accept", "is_json"),
    [
        (JSON, True),
        ("application/json, text/plain, */*", True),
        ("application/json; charset=utf-8", True),
        ("application/json;q=0.5, text/html", False),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
        ("*/*", False),
        ("image/png", False),
        ("nonsense", False),
    ],
)
def test_the_accept_header_decides_between_html_and_json(
    client: Client, shelf: list[Book], accept: str, is_json: bool
) -> None:
    for url in ("/books/", "/books/?q=((", shelf[0].get_absolute_url()):
        response, _ = _get(client, url, accept)
        assert _is_json(response) is is_json
        assert "Accept" in response.headers["Vary"]


def test_htmx_gets_only_the_next_cards(client: Client, shelf: list[Book]) -> None:
    after = _get(client, "/books/?q=cats", JSON)[0].json()["next"]
    part, seen = _get(client, after, **{"HX-Request": "true"})
    assert (seen.round_trips, seen.sql) == (1, [])
    assert "Cat 04" in part.content.decode()
    assert "<html" not in part.content.decode()
    assert "HX-Request" in part.headers["Vary"]
    for headers in ({}, {"HX-Request": "true", "HX-Boosted": "true"}):
        whole, _ = _get(client, after, **headers)
        assert "<html" in whole.content.decode()
    first, _ = _get(client, "/books/?q=cats", **{"HX-Request": "true"})
    assert "<html" in first.content.decode()


def _bodies(client: Client, pk: int) -> list[Any]:
    """Return status and content of pages in HTML and JSON."""
    urls = ("/books/", "/books/?q=cats&sort=title", "/books/?q=nobody", f"/books/{pk}/", "/books/987654321/")
    return [
        (response.status_code, response.content)
        for url in urls
        for accept in ("text/html", JSON)
        for response in [client.get(url, headers={"Accept": accept})]
    ]


def test_sql_returns_the_same_pages(client: Client, shelf: list[Book]) -> None:
    warm = _bodies(client, shelf[0].pk)
    with sql_only(), record() as seen:
        assert _bodies(client, shelf[0].pk) == warm
    assert {command.name for command in seen.commands} == {"EVALSHA"}  # the recorded view


def test_sql_returns_the_same_pages_after_redis_is_killed(
    redis_server: RedisServer, client: Client, shelf: list[Book]
) -> None:
    warm = _bodies(client, shelf[0].pk)
    redis_server.kill()
    breaker.reset()
    assert _bodies(client, shelf[0].pk) == warm


def test_sql_returns_the_same_pages_while_redis_hangs(
    redis_server: RedisServer, client: Client, shelf: list[Book], settings: Settings
) -> None:
    settings.MIRROR = {**settings.MIRROR, "BREAKER_SECONDS": 60}
    warm = _bodies(client, shelf[0].pk)
    clear_copies()
    with hung(redis_server), record() as seen:
        assert _bodies(client, shelf[0].pk) == warm
    assert seen.round_trips == 2  # a time-out of the stored pages, one of the mirrors, and no further attempts


def test_a_login_costs_one_more_round_trip_and_no_sql(
    client: Client, shelf: list[Book], django_user_model: Any
) -> None:
    rebuild(["session", "shelf_entry", "notification"])
    client.force_login(django_user_model.objects.create_user("alice"))
    response, seen = _get(client, "/books/?q=cats")
    assert (seen.round_trips, seen.sql) == (2, [])
    assert "Cookie" in response.headers["Vary"]


def test_a_grown_list_has_its_own_address(client: Client) -> None:
    """A returning visitor sees all loaded pages again, with as many round trips as for one page."""
    make_books(Book(title=f"Book {n:03}", popularity=1000 - n) for n in range(PAGE_SIZE * 11 + 3))
    warm_up()
    _get(client, "/books/?pages=3")
    part, seen = _get(client, "/books/?pages=3")
    assert (seen.round_trips, seen.sql) == (1, [])
    html = part.content.decode()
    assert html.count('class="card"') == 3 * PAGE_SIZE
    assert 'hx-replace-url="/books/?pages=4"' in html
    link = unescape(html.split('rel="next"')[1].split('hx-get="')[1].split('"')[0])
    html = client.get(link, headers={"HX-Request": "true"}).content.decode()
    assert html.count('class="card"') == PAGE_SIZE
    assert 'hx-replace-url="/books/?pages=5"' in html
    for asked, pages in (("10", 10), ("11", 10), ("9" * 30, 1), ("0", 1), ("x", 1), ("", 1)):
        html = client.get(f"/books/?pages={asked}").content.decode()
        assert html.count('class="card"') == pages * PAGE_SIZE, asked
        assert ("hx-replace-url" in html) == (pages < 10), asked
