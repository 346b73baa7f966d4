"""Shelves, with JavaScript and without it."""

import re

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from catalog.models import Book
from catalog.shelves.models import ShelfEntry
from tests.browser.conftest import PHONE, OpenPage
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "a quiet bookshop"


@pytest.fixture
def book(transactional_db: None) -> Book:
    User.objects.create_user("rita", password=PASSWORD)
    book = Book.objects.create(title="A fine book", rating="4.10", popularity=7)
    rebuild()
    return book


def log_in(page: Page, book: Book) -> Page:
    page.goto(f"/accounts/login/?next=/books/{book.pk}/")
    page.get_by_label("Name").fill("rita")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="A fine book")).to_be_visible()
    return page


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with JavaScript", "without"])
def test_book_is_shelved_rated_and_removed(book: Book, open_page: OpenPage, has_scripts: bool) -> None:
    page = log_in(open_page(java_script_enabled=has_scripts), book)
    page.get_by_role("button", name="Want to read", exact=True).click()
    pressed = page.get_by_role("button", name="Want to read", exact=True, pressed=True)
    expect(pressed).to_be_visible()
    page.get_by_role("radio", name="4 stars").check(force=True)
    if not has_scripts:
        page.get_by_role("button", name="Rate", exact=True).click()
    expect(page.get_by_role("button", name="Remove rating")).to_be_visible()
    page.get_by_role("button", name="Read", exact=True).click()
    expect(page.get_by_role("button", name="Read", exact=True, pressed=True)).to_be_visible()
    page.goto("/shelves/read/")
    expect(page.get_by_role("main").get_by_role("listitem")).to_contain_text("A fine book4 stars")
    page.locator("summary", has_text="Goal and privacy").click()
    page.get_by_label("Books to read in").fill("30")
    page.get_by_role("button", name="Set goal").click()
    expect(page.get_by_text("1 of 30 in")).to_be_visible()
    page.locator("summary", has_text="Goal and privacy").click()
    page.get_by_label("Visible to").select_option("me")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.get_by_role("link", name="List", exact=True).click()
    expect(page).to_have_url("/shelves/read/?look=list")
    page.get_by_role("link", name="Change A fine book").click()
    page.get_by_role("button", name="Remove rating").click()
    expect(page.get_by_role("button", name="Remove rating")).to_have_count(0)
    page.get_by_role("button", name="Remove from your shelves").click()
    expect(page.get_by_role("button", name="Remove from your shelves")).to_have_count(0)
    if has_scripts:
        expect(page.get_by_role("button", name="Want to read", exact=True)).to_be_focused()
    assert not ShelfEntry.objects.exists()


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with JavaScript", "without"])
def test_book_is_shelved_from_its_card(book: Book, open_page: OpenPage, has_scripts: bool) -> None:
    page = log_in(open_page(java_script_enabled=has_scripts), book)
    page.goto("/books/?sort=title")
    card = page.get_by_role("listitem").filter(has_text="A fine book")
    card.get_by_role("button", name="Want to read (A fine book)").press("Enter")
    state = card.get_by_role("link", name="Want to read (A fine book)")
    expect(state).to_be_visible()
    if has_scripts:
        expect(page).to_have_url("/books/?sort=title")
        expect(state).to_be_focused()
    else:
        expect(page).to_have_url(f"/books/?sort=title#card-{book.pk}")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="My shelves").click()
    expect(page.get_by_role("main").get_by_role("link", name="A fine book", exact=True)).to_be_visible()


def test_covers_are_in_the_first_screen_of_a_phone_with_titles_of_two_lines(book: Book, open_page: OpenPage) -> None:
    page = log_in(open_page(viewport=PHONE), book)
    page.get_by_role("button", name="Read", exact=True).click()
    expect(page.get_by_role("button", name="Read", exact=True, pressed=True)).to_be_visible()
    Book.objects.update(title="A title of many words " * 9)
    rebuild()
    page.goto("/shelves/read/")
    expect(page.locator(".covers .cover")).to_be_in_viewport(ratio=1)
    lines = page.locator(".cover-label").evaluate(
        "label => label.clientHeight / parseFloat(getComputedStyle(label).lineHeight)"
    )
    assert round(lines, 1) == 2
    page.locator("summary", has_text="Sort and filter").click()
    expect(page.get_by_label("Read in the year")).to_be_in_viewport()
    page.get_by_label("Sort by").select_option("stars")
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("link", name="Show all").click()
    expect(page).to_have_url("/shelves/read/")


def test_histogram_shows_a_new_rating_at_once(book: Book, open_page: OpenPage) -> None:
    page = log_in(open_page(), book)
    for stars, mean in ((4, "4.00"), (2, "2.00")):
        page.get_by_role("radio", name=f"{stars} stars").check(force=True)
        expect(page.locator(".readers")).to_contain_text(re.compile(f"{mean}[^0]*1 rating on Diptych"))
        expect(page.get_by_role("row", name=re.compile(f"^{stars} stars")).locator(".number")).to_have_text("1")
    page.get_by_role("button", name="Remove rating").click()
    expect(page.locator(".histogram")).to_have_count(0)
    page.get_by_role("button", name="Want to read", exact=True).click()
    expect(page.get_by_text("1 reader wants to read this")).to_be_visible()
