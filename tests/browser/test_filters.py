"""Filters, orders and the back button, with JavaScript and without it."""

import re

import pytest
from playwright.sync_api import Page, expect

from catalog.models import Author, Book
from shop.models import Product
from tests.browser.conftest import Audit, settled
from tests.browser.test_quick_actions import HeldRequests
from tests.support.catalog.make import make_books
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shelf(transactional_db: None) -> list[Book]:
    """Create more than three pages of books: ten in French, three for sale, one in a series."""
    made = make_books(
        (
            Book(
                title="Book 00 (Salt Road, #1)" if n == 0 else f"Book {n:02}",
                year=1950 + n,
                popularity=1000 - n,
                rating="4.25",
                language="fre" if n < 10 else "eng",
            )
            for n in range(70)
        ),
        tags="fantasy",
        authors="Ursula Example",
    )
    Product.objects.bulk_create(Product(book=book, price=500 + 100 * n, stock=n) for n, book in enumerate(made[:3]))
    rebuild()
    return made


@pytest.fixture(params=["person", "plain"])
def page(request: pytest.FixtureRequest, shelf: list[Book]) -> Page:
    """Run each test with JavaScript and without it."""
    page: Page = request.getfixturevalue(request.param)
    return page


def apply(page: Page) -> None:
    """Apply the filters. The button is there for visitors without scripts; scripts apply each change at once."""
    button = page.locator(".filters").get_by_text("Apply")
    if page.evaluate("matchMedia('(scripting: enabled)').matches"):
        expect(button).to_be_hidden()
        page.keyboard.press("Tab")  # a typed value is complete when the focus leaves it
    else:
        button.click()


def test_filters_narrow_the_list_and_can_be_removed(page: Page) -> None:
    page.goto("/books/?q=fantasy")
    filters = page.locator(".filters")
    if not filters.get_by_label("Language").is_visible():
        filters.get_by_text("Filters").click()
    filters.get_by_label("Language").select_option(label="French")
    apply(page)
    expect(page.locator("#results")).to_have_text("10 books")
    page.locator("#f-year_from").fill("1951")
    page.locator("#f-price_to").fill("6.50")
    page.get_by_label("In stock").check()
    apply(page)
    expect(page.locator("#results")).to_have_text("1 book")
    expect(page).to_have_url(re.compile("q=fantasy"))
    for name in ("French (remove)", "In stock (remove)", re.compile("6.50")):
        remove = page.get_by_role("link", name=name)
        remove.click()
        expect(remove).to_have_count(0)  # the next link's address depends on what is left
    expect(page.locator("#results")).to_have_text("69 books")
    page.get_by_role("link", name="Title: A to Z").click()
    page.get_by_role("link", name="Title: Z to A").click()
    expect(page.locator(".card-title").first).to_have_text("Book 69")
    row = page.get_by_role("navigation", name="Sort by")
    box, link = row.bounding_box(), row.get_by_role("link", name="Price: high to low").bounding_box()
    assert box
    assert link
    assert box["height"] == link["height"]


def test_filters_apply_at_once_and_none_is_lost(person: Page, shelf: list[Book]) -> None:
    person.goto("/books/")
    settled(person)
    held = HeldRequests(person, r"/books/")
    language = person.locator("#f-language")
    language.select_option(label="French")
    held.wait()
    person.locator("#f-price_to").fill("6.50")
    person.get_by_label("In stock").check()
    held.let_go()
    expect(person).to_have_url(re.compile(r"/books/\?language=fr&.*price_to=6.50&in_stock=1"))
    expect(language).to_have_value("fr")
    expect(person.get_by_label("In stock")).to_be_checked()
    expect(person.locator("#results")).to_have_text("1 book")


def test_invalid_filter_is_marked(page: Page) -> None:
    page.goto("/books/?year_from=2000&year_to=1990")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("#f-year_from")).to_have_attribute("aria-invalid", "true")
    page.locator("#f-year_from").fill("1980")
    apply(page)
    expect(page.locator("#results")).to_have_text("11 books")


def test_back_and_forward_keep_loaded_pages_and_scroll_position(person: Page, shelf: list[Book]) -> None:
    person.goto("/books/")
    for loaded in (40, 60):
        person.get_by_role("link", name="More books").click()
        expect(person.locator(".card")).to_have_count(loaded)
    expect(person).to_have_url("/books/?pages=3")
    last = person.get_by_role("link", name="Book 55")
    last.scroll_into_view_if_needed()
    settled(person)
    place = person.evaluate("scrollY")
    assert place > 1000
    last.click()
    expect(person.get_by_role("heading", level=1)).to_have_text("Book 55")
    person.go_back()
    expect(person.locator(".card")).to_have_count(60)
    person.wait_for_function("place => Math.abs(scrollY - place) < 100", arg=place)
    person.go_forward()
    expect(person.get_by_role("heading", level=1)).to_have_text("Book 55")
    person.go_back()
    expect(person.locator(".card")).to_have_count(60)


def test_back_from_a_narrower_list_keeps_the_loaded_pages(person: Page, shelf: list[Book]) -> None:
    person.goto("/books/")
    person.get_by_role("link", name="More books").click()
    expect(person.locator(".card")).to_have_count(40)
    settled(person)
    person.get_by_role("navigation", name="Tags of these books").get_by_role("link", name="fantasy").click()
    expect(person).to_have_url("/books/?q=fantasy")
    person.go_back()
    expect(person).to_have_url("/books/?pages=2")
    expect(person.locator(".card")).to_have_count(40)


def test_filtered_lists_are_accessible_and_fit(person: Page, audit: Audit, shelf: list[Book]) -> None:
    author = Author.objects.get()
    for address in ("/books/?language=en&year_from=x", f"/books/{shelf[0].pk}/", f"/authors/{author.pk}/"):
        person.goto(address)
        assert audit(person) == []
