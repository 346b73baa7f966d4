"""From a search to a paid order, without JavaScript and by keyboard only."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Tagging
from catalog.shelves.models import Shelf, ShelfEntry
from shop.models import Order, OrderState, Product
from tests.browser.checkout import UK_ADDRESS, fill_address
from tests.browser.conftest import PHONE, OpenPage, settled, tab_to
from tests.browser.test_loginlog import sign_in
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def emma(transactional_db: None) -> Product:
    made = make_product("Emma", price=1250, stock=10)
    rebuild()
    return made


@pytest.fixture
def alice(emma: Product) -> User:
    return User.objects.create_user("alice", email="alice@example.org")


def is_bought(book: int, stars: int) -> bool:
    """Return whether the book is on the shelf, rated, tagged and paid for."""
    entry, order = ShelfEntry.objects.get(), Order.objects.get()
    assert (entry.book_id, entry.shelf, entry.stars) == (book, Shelf.READING, stars)
    assert [tagging.tag.name for tagging in Tagging.objects.filter(book=book)] == ["hill walking"]
    return (order.state, order.total) == (OrderState.PAID, 2500)


def test_reader_buys_a_book_without_javascript(
    open_page: OpenPage, live_server: LiveServer, alice: User, emma: Product
) -> None:
    page = sign_in(open_page(java_script_enabled=False), alice, live_server)
    page.goto("/")
    page.get_by_role("main").get_by_role("combobox").fill("ema")
    page.get_by_role("main").get_by_role("combobox").press("Enter")
    expect(page.get_by_role("banner").get_by_role("combobox")).to_have_value("ema")
    page.locator(".card-title").get_by_role("link", name="Emma").click()
    page.get_by_role("button", name="Reading", exact=True).click()
    expect(page.get_by_role("button", name="Reading", exact=True, pressed=True)).to_be_visible()
    page.get_by_role("radio", name="4 stars").check(force=True)
    page.get_by_role("button", name="Rate", exact=True).click()
    expect(page.get_by_role("button", name="Remove rating")).to_be_visible()
    page.locator("summary", has_text="Add a tag").click()
    page.get_by_label("Add a tag").fill("Hill walking")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("button", name="Remove your tag “hill walking”")).to_be_visible()
    page.get_by_label("Quantity").fill("2")
    page.get_by_role("button", name="Add to cart").click()
    expect(page.get_by_role("status").first).to_contain_text("Added to cart")
    page.locator("#cart-link").click()
    page.get_by_role("link", name="Proceed to checkout").click()
    page.get_by_label("Name").fill("Alice A")
    fill_address(page, has_scripts=False)
    page.get_by_role("button", name="Place order and pay €25.00").click()
    expect(page.get_by_role("status").first).to_contain_text("Your order is paid.")
    assert is_bought(emma.pk, 8)


def test_reader_buys_a_book_by_keyboard(
    open_page: OpenPage, live_server: LiveServer, alice: User, emma: Product
) -> None:
    page = sign_in(open_page(), alice, live_server)
    page.goto("/books/")
    settled(page)
    find_book(page)
    press(page, "Enter", page.get_by_role("button", name="Reading", exact=True))
    expect(page.get_by_role("button", name="Reading", exact=True, pressed=True)).to_be_focused()
    tab_to(page, page.get_by_role("radio", name="0.5 star"))
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mean")).to_contain_text("1.50")
    expect(page.get_by_role("radio", name="1.5 stars")).to_be_focused()
    tab_to(page, page.locator("summary", has_text="Add a tag"), key="Shift+Tab")
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_label("Add a tag"))
    page.keyboard.type("Hill walking")
    press(page, "Space", page.get_by_role("button", name="Add", exact=True), most=1)
    expect(page.get_by_role("button", name="Remove your tag “hill walking”")).to_be_visible()
    expect(page.get_by_role("heading", name="Tags")).to_be_focused()
    tab_to(page, page.get_by_label("Quantity"), key="Shift+Tab")
    page.keyboard.press("ArrowUp")
    press(page, "Enter", page.get_by_role("button", name="Add to cart"), most=1)
    expect(page.get_by_role("status").filter(has_text="Added to cart")).to_have_count(1)
    expect(page.get_by_role("button", name="Add to cart")).to_be_focused()
    press(page, "Enter", page.locator("#mini-cart .buttons a").last, most=3)
    tab_to(page, page.get_by_label("Country"))
    page.keyboard.type("United Kingdom")
    expect(page.get_by_label("Postcode")).to_be_visible()
    for label, text in UK_ADDRESS.items():
        tab_to(page, page.get_by_label(label))
        page.keyboard.type(text)
    press(page, "Enter", page.get_by_role("button", name="Place order and pay €25.00"), most=8)
    expect(page.get_by_role("status").first).to_contain_text("Your order is paid.")
    assert is_bought(emma.pk, 3)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_guest_buys_a_book_on_a_phone_by_keyboard(
    open_page: OpenPage, live_server: LiveServer, emma: Product, settings: Settings, language: str
) -> None:
    """From the search to the paid order: nine fields and four presses, without an account or a pointer."""
    settings.SELLER_COUNTRY = "GB"  # a buyer of the same country need not choose it
    page = open_page(viewport=PHONE)
    page.context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
    page.goto("/")
    settled(page)
    find_book(page)
    press(page, "Enter", page.locator(".buy .button"))
    expect(page.locator("#mini-cart")).to_be_visible()
    press(page, "Enter", page.locator("#mini-cart .buttons a").last, most=3)
    typed = {
        "email": "ann@example.org", "name": "Ann A", "street": "Moss Lane 1", "city": "Little Town",
        "postcode": "SW1A 1AA", "card": "4242 4242 4242 4242", "expiry": "12/40", "code": "123",
    }  # fmt: skip
    for name, text in typed.items():
        field = page.locator(f"main [name={name}]")
        tab_to(page, field)
        field.press("Control+a")
        page.keyboard.type(text)
    page.keyboard.press("Enter")
    expect(page.locator(".state").first).to_be_visible()
    order = Order.objects.get()
    assert (order.state, order.total, order.user_id, order.email) == (OrderState.PAID, 1250, None, "ann@example.org")


def find_book(page: Page) -> None:
    """Open the book with the combobox."""
    box, option = page.get_by_role("combobox").locator("visible=true").first, page.get_by_role("option", name="Emma")
    page.keyboard.press("/")
    expect(box).to_be_focused()
    page.keyboard.type("emm")
    expect(option).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/books/\d+/$"))


def press(page: Page, key: str, target: Locator, most: int = 60) -> None:
    """Press Tab until the target has the focus, then the key."""
    tab_to(page, target, most=most)
    page.keyboard.press(key)
