"""The cards of books in rows and grids: common ends, one line, buttons as wide as their columns."""

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Book
from catalog.shelves import services
from catalog.shelves.forms import get_today
from catalog.shelves.models import Shelf
from mirror.relay.drains import drain_all
from shop.models import Product
from tests.browser.conftest import Audit, OpenPage, find_overflows, resize, text_size
from tests.browser.test_loginlog import sign_in
from tests.support.catalog.make import make_authors
from tests.support.shop.make import make_sale
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

# Of each shown card: its line, the end of its price, its width, and its button's width and height.
MEASURE = """cards => cards.filter(card => card.offsetParent).map(card => {
    const box = card.getBoundingClientRect(), end = name => card.querySelector(name)?.getBoundingClientRect()
    const button = end(".button")
    return [box.top, end(".price").bottom, box.width, button?.width, button?.height].map(Math.round)
})"""
# Of each shown card: its line, and those of the parts that the cards of a line share.
ROWS = """cards => cards.filter(card => card.offsetParent).map(card => {
    const top = part => Math.round(part.getBoundingClientRect().top);
    const parts = ["h3", ".card-end"].map(name => card.querySelector(name));
    return [top(card), parts.map(part => part && top(part))];
})"""
# The distances from the rating to the price: both stand on one line.
BASELINES = """cards => cards.flatMap(card => {
    const ends = [".stars", ".price"].map(name => card.querySelector(`.card-end ${name}`)).filter(Boolean);
    const lines = ends.map(end => {
        const mark = end.appendChild(document.createElement("span"));
        mark.style = "display: inline-block; width: 0; height: 0";
        const line = mark.getBoundingClientRect().bottom;
        mark.remove();
        return line;
    });
    return lines.length === 2 ? [Math.round(lines[0] - lines[1])] : [];
})"""


@pytest.fixture
def reader(open_page: OpenPage, live_server: LiveServer, books: list[Book]) -> Page:
    """Open a page of a reader with a book on a shelf. One title is long, and one book is part of a series."""
    Product.objects.bulk_create(Product(pk=book.pk, price=1250, stock=9) for book in books)
    Book.objects.filter(pk=books[1].pk).update(title="The Long Way to a Title of Three Lines and More")
    Book.objects.filter(pk=books[2].pk).update(title="A Book (Some Series, #1)")
    make_authors([(books[3], "Wilhelmina Featherstone")])
    user = User.objects.create(username="alice")
    services.put_on_shelf(user.pk, books[0].pk, Shelf.WANT, get_today())
    rebuild()
    drain_all()
    return sign_in(open_page(), user, live_server)


def test_rows_are_one_line_with_equal_buttons(reader: Page) -> None:
    reader.goto("/")
    cards = reader.locator("[aria-labelledby=most-viewed] .card")
    for width in (390, 640, 768, 1024, 1280):
        resize(reader, width)
        shown = cards.evaluate_all(MEASURE)
        assert len(shown) == 8, width  # those beyond the edge are reached by scrolling the row
        assert len({(top, end) for top, end, *_ in shown}) == 1, width
        assert {tuple(each[3:]) for each in shown} == {(shown[0][2], 40)}, width
    with text_size(reader, 200):
        assert find_overflows(reader, [320, 1280]) == []


def test_phones_show_two_cards_of_a_list_beside_each_other(reader: Page) -> None:
    reader.goto("/books/")
    for width in (320, 390, 430):
        resize(reader, width)
        tops = [top for top, *_ in reader.locator(".cards > .card").evaluate_all(MEASURE)]
        assert tops[0] == tops[1] < tops[2], width
    with text_size(reader, 200):
        assert find_overflows(reader, [320, 390]) == []


def test_cards_beside_each_other_share_their_lines(reader: Page) -> None:
    for path in ("/", "/books/"):
        reader.goto(path)
        cards = reader.locator(".card")
        authors = cards.locator(".card-by").evaluate_all("each => each.map(one => [one.clientWidth, one.scrollWidth])")
        assert authors, path
        assert all(shown >= width for shown, width in authors), path
        lines: dict[int, list[set[int]]] = {}
        for line, tops in cards.evaluate_all(ROWS):
            for shared, top in zip(lines.setdefault(line, [set() for _ in tops]), tops, strict=True):
                shared.update([] if top is None else [top])
        assert all(len(shared) < 2 for row in lines.values() for shared in row), path
        assert set(cards.evaluate_all(BASELINES)) == {0}, path


# Of each shown card of the sale: its line, the width of its cover, and whether that names the author.
COVERS = """cards => cards.filter(card => card.offsetParent).map(card => {
    const cover = card.querySelector(".cover"), author = cover.querySelector(".cover-author");
    const {top, width} = cover.getBoundingClientRect();
    return [Math.round(top), Math.round(width), getComputedStyle(author).display !== "none"];
})"""


def test_the_sale_is_a_band_of_large_covers_with_discounts(
    reader: Page, open_page: OpenPage, audit: Audit, live_server: LiveServer
) -> None:
    make_sale(*Product.objects.order_by("pk")[:8], price=900)
    drain_all()
    guest = open_page()
    for page in (guest, reader):
        page.goto(live_server.url)
        band, rows = page.locator(".band .card"), page.locator(".strip:not(.band *) .card")
        for width, count, sizes in ((1280, 6, (165, 180)), (1024, 6, (128, 150)), (390, 6, (150, 151))):
            resize(page, width)
            covers = band.evaluate_all(COVERS)
            assert len(covers) == count, width
            assert len({top for top, *_ in covers}) == 1, width
            assert all(sizes[0] <= cover <= sizes[1] and named == (cover >= 150) for _, cover, named in covers), covers
            assert not any(named for *_, named in rows.evaluate_all(COVERS)), width
        assert band.locator(".badge").all_inner_texts() == ["−28%"] * 6
        assert find_overflows(page, [320, 390, 768, 1280, 1920]) == []
        with text_size(page, 200):
            assert find_overflows(page, [320, 1280]) == []
    assert audit(guest) == []


def test_the_front_page_of_guests_has_one_search_box(open_page: OpenPage, live_server: LiveServer) -> None:
    guest = open_page()
    guest.goto(live_server.url)
    for width in (390, 1280):
        resize(guest, width)
        assert [box.is_visible() for box in guest.locator("input[type=search]").all()].count(True) == 1, width
    guest.keyboard.press("/")
    assert guest.evaluate("document.activeElement.id") == "find"
    guest.goto(f"{live_server.url}/books/")
    assert guest.locator("#seek").is_visible()
