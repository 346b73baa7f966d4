"""The shelf button on cards of books: lists, pages of authors, search and the front page."""

from datetime import date

import pytest
from django.test import Client

from accounts.models import User
from catalog.models import Book
from catalog.shelves import services
from catalog.shelves.models import Shelf, ShelfEntry
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from shop.book_views import decay
from shop.pagecache import readers
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import warm_up
from tests.support.shop.make import make_product, make_sale
from tests.support.social import timelines
from tests.support.warm_mirrors import rebuild

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]

HTMX = {"HX-Request": "true"}
TODAY = date(2026, 6, 1)
BUTTON = 'form="card-shelf" formaction="/books/{0}/shelf/" name="shelf" value="want-to-read"'
STATE = 'id="card-{0}"><a class="button quiet on" href="/books/{0}/#shelf">'


@pytest.fixture
def books() -> list[Book]:
    return [make_book(f"Hobbits {n}", authors="Ann", tags="tea") for n in (1, 2)]


@pytest.fixture
def client(books: list[Book]) -> Client:
    """A client of a reader who reads the first book."""
    rita = User.objects.create(username="Rita")
    services.put_on_shelf(rita.pk, books[0].pk, Shelf.READING, TODAY)
    rebuild()
    warm_up()
    client = Client()
    client.force_login(rita)
    drain_all()
    return client


def get_addresses(books: list[Book]) -> tuple[str, ...]:
    return "/books/?q=tea", f"/authors/{books[0].authors.get().pk}/", "/search/?q=hobbits"


def test_cards_offer_a_shelf_and_show_the_readers_own(client: Client, books: list[Book]) -> None:
    reading, free = (book.pk for book in books)
    for address in get_addresses(books):
        for answered_by_sql in (False, True):
            if answered_by_sql:
                with sql_only():
                    page = client.get(address).content.decode()
            else:
                page = client.get(address).content.decode()
            assert STATE.format(reading) in page, address
            assert BUTTON.format(free) in page, address
            assert BUTTON.format(reading) not in page, address
            assert STATE.format(free) not in page, address
            assert page.count('<form id="card-shelf"') == 1, address
            assert "/lists/with/" not in page, address  # the page of the book has the link


def test_cards_show_no_visitor_the_shelves_of_another(client: Client, books: list[Book]) -> None:
    other = Client()
    other.force_login(User.objects.create(username="Olga"))
    drain_all()
    for address in get_addresses(books):
        client.get(address)
        page = other.get(address).content.decode()
        assert BUTTON.format(books[0].pk) in page, address
        assert STATE.format(books[0].pk) not in page, address
        assert "card-shelf" not in Client().get(address).content.decode(), address


def test_cards_with_shelves_take_no_further_round_trip(client: Client, books: list[Book]) -> None:
    for address in get_addresses(books):
        client.get(address)
        with record() as seen:
            assert "card-shelf" in client.get(address).content.decode()
        assert (seen.round_trips, seen.sql) == (1, []), address


def test_further_cards_use_the_form_of_the_first_page(client: Client, books: list[Book]) -> None:
    first = client.get("/books/?q=tea", headers=HTMX).content.decode()
    assert '<form id="card-shelf"' in first  # a new order replaces the whole list
    part = client.get("/books/?q=tea&after=x", headers=HTMX).content.decode()
    assert BUTTON.format(books[1].pk) in part
    assert '<form id="card-shelf"' not in part


def test_a_pressed_button_leads_back_to_its_card(client: Client, books: list[Book]) -> None:
    fields = {"action": "shelf", "on_card": "1", "shelf": "want-to-read", "next": "/books/?q=tea"}
    response = client.post(f"/books/{books[1].pk}/shelf/", fields)
    assert response.headers["Location"] == f"/books/?q=tea#card-{books[1].pk}"
    assert ShelfEntry.objects.get(book=books[1]).shelf == Shelf.WANT
    assert STATE.format(books[1].pk) in client.get("/books/?q=tea").content.decode()
    elsewhere = client.post(f"/books/{books[1].pk}/shelf/", {**fields, "next": "https://example.com/"})
    assert elsewhere.headers["Location"] == f"/books/#card-{books[1].pk}"


def test_htmx_gets_the_new_state_of_the_card_or_the_error(client: Client, books: list[Book], settings: object) -> None:
    settings.SHELF_RATES = ((1, 60),)  # type: ignore[attr-defined]
    fields = {"action": "shelf", "on_card": "1", "shelf": "want-to-read"}
    part = client.post(f"/books/{books[1].pk}/shelf/", fields, headers=HTMX).content.decode()
    assert part.startswith(f'<p class="card-shelf" id="card-{books[1].pk}"><a class="button quiet on" href=')
    assert f'href="/books/{books[1].pk}/#shelf" autofocus>' in part
    refused = client.post(f"/books/{books[1].pk}/shelf/", fields, headers=HTMX)
    assert refused.status_code == 429
    assert refused.content.decode().startswith('<p class="card-shelf"><span role="alert" tabindex="-1" autofocus>')


def test_cards_in_strips_have_no_anchor(client: Client, books: list[Book]) -> None:
    client.get(f"/books/{books[0].pk}/")
    page = client.get("/").content.decode()
    assert "card-shelf" in page
    fields = {"action": "shelf", "on_card": "strip", "shelf": "want-to-read"}
    part = client.post(f"/books/{books[1].pk}/shelf/", fields, headers=HTMX).content.decode()
    assert part.startswith('<p class="card-shelf"><a class="button quiet on" href=')


def test_the_button_needs_a_csrf_token(client: Client, books: list[Book]) -> None:
    client.handler.enforce_csrf_checks = True
    fields = {"action": "shelf", "on_card": "1", "shelf": "want-to-read"}
    assert client.post(f"/books/{books[1].pk}/shelf/", fields).status_code == 403


def test_strips_of_the_front_page_show_shelves_without_a_further_round_trip(client: Client, books: list[Book]) -> None:
    product = make_product("On sale", price=1000)
    make_sale(product, price=900)
    others = [make_product(f"Other {number}") for number in range(3)]
    reader = User.objects.get(username="Rita")
    services.put_on_shelf(reader.pk, books[1].pk, Shelf.WANT, TODAY)
    drain_all()
    decay.rebuild_popularity()
    timelines.warm_up(reader)
    for seen_by_others in (books[1], *others):
        Client().get(f"/books/{seen_by_others.pk}/")
    readers.clear_caches()
    trips = []
    for _ in range(3):
        with record() as seen:
            page = client.get("/").content.decode()
        trips.append(seen.round_trips)
        assert f'<a class="button quiet on" href="/books/{books[1].pk}/#shelf">' in page
        assert all(BUTTON.format(each.pk) in page for each in (product, *others))
        assert page.count('<form id="card-shelf"') == 1
        assert "sort=popular" not in page, "the most viewed books are not the most read ones"
    assert trips[2] < trips[0]
    assert "card-shelf" not in Client().get("/").content.decode()
    with record() as seen:
        client.get("/")
    assert (seen.round_trips, seen.sql) == (trips[2], [])
