"""Shelves, with JavaScript and without it."""

import re

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from catalog.models import Book
from catalog.shelves.models import Shelf, ShelfEntry
from tests.browser.conftest import PHONE, OpenPage
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "a quiet bookshop"
MASK = """getComputedStyle(document.querySelector(".shelf-bar > .tabs")).maskImage"""


@pytest.fixture
def book(transactional_db: None) -> Book:
    User.objects.create_user("rita", password=PASSWORD)
    book = Book.objects.create(title="A fine book", rating="4.10", popularity=7)
    rebuild()
    return book


def open_privacy(page: Page) -> None:
    """Open the part of the shelf's tools with the goal and the privacy."""
    page.locator("summary", has_text="Sort and filter").click()
    page.locator("summary", has_text="Goal and privacy").click()


def log_in(page: Page, book: Book) -> Page:
    page.goto(f"/accounts/login/?next=/books/{book.pk}/")
    page.get_by_label("Name").fill("rita")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="A fine book")).to_be_visible()
    page.wait_for_load_state()  # the scripts have run
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
    open_privacy(page)
    page.get_by_label("Books to read in").fill("30")
    page.get_by_role("button", name="Set goal").click()
    expect(page.get_by_text("1 of 30 books in")).to_be_visible()
    open_privacy(page)
    page.get_by_label("Visible to").select_option("me")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.locator("summary", has_text="Sort and filter").click()
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


def test_a_phone_shows_three_books_for_each_board(book: Book, open_page: OpenPage) -> None:
    rita = User.objects.get()
    for number in range(1, 5):
        other = Book.objects.create(title=f"Book {number}")
        ShelfEntry.objects.create(user=rita, book=other, shelf=Shelf.READ, shelved_on="2026-01-02")
    rebuild()
    page = log_in(open_page(viewport=PHONE), book)
    page.goto("/shelves/read/")
    covers = page.locator(".covers .cover")
    expect(covers).to_have_count(4)
    places = [covers.nth(n).bounding_box() for n in range(4)]
    assert [round(place["width"]) for place in places if place] == [100] * 4
    assert len({round(place["y"]) for place in places[:3] if place}) == 1
    # Titles of one line and no stars: the next board's books are close.
    label = page.locator(".cover-label").first.bounding_box()
    assert label
    assert places[3]
    assert round(places[3]["y"] - label["y"] - label["height"]) == 24


def test_tabs_that_scroll_fade_where_more_follows(book: Book, open_page: OpenPage) -> None:
    page = log_in(open_page(viewport=PHONE), book)
    page.goto("/shelves/want-to-read/")
    tabs = page.locator(".shelf-bar > .tabs")

    def find_mask() -> str:
        return str(tabs.evaluate("tabs => getComputedStyle(tabs).maskImage"))

    start = find_mask()
    assert "to left" in start
    tabs.evaluate("tabs => tabs.scrollTo(tabs.scrollWidth / 8, 0)")
    page.wait_for_function(f"mask => {MASK} !== mask", arg=start)
    between = find_mask()
    tabs.evaluate("tabs => tabs.scrollTo(tabs.scrollWidth, 0)")
    page.wait_for_function(f"masks => !masks.includes({MASK})", arg=[start, between])
    assert "none" not in (start, between, find_mask())
    page.set_viewport_size({"width": 1200, "height": 844})
    page.wait_for_function(f"() => {MASK} === 'none'")
    page.set_viewport_size(PHONE)
    page.emulate_media(forced_colors="active")
    page.wait_for_function(f"() => {MASK} === 'none'")


def test_the_open_tab_of_a_row_that_scrolls_is_in_view(book: Book, open_page: OpenPage) -> None:
    page = log_in(open_page(viewport=PHONE), book)
    page.goto("/shelves/did-not-finish/")
    tab = page.locator(".shelf-bar > .tabs [aria-current]")
    place = tab.bounding_box()
    assert place
    assert place["x"] + place["width"] <= PHONE["width"]


def test_own_public_shelves_lead_to_my_shelves_above_the_books(book: Book, open_page: OpenPage) -> None:
    ShelfEntry.objects.create(user=User.objects.get(), book=book, shelf=Shelf.READ, shelved_on="2026-01-02")
    rebuild()
    page = log_in(open_page(viewport=PHONE), book)
    page.goto("/u/rita/shelves/?shelf=read")
    tools = page.locator(".shelf-bar .shelf-tools")
    place, cover = tools.bounding_box(), page.locator(".covers .cover").bounding_box()
    assert place
    assert cover
    assert place["y"] < cover["y"]
    look = "each => [getComputedStyle(each).borderTopWidth, getComputedStyle(each).borderRadius]"
    assert page.locator(".covers").evaluate(look) == page.locator(".person-head").evaluate(look)
    tools.get_by_role("link", name="Edit shelves").click()
    expect(page.get_by_role("heading", name="My shelves")).to_be_visible()
    expect(page.locator(".shelf-bar .shelf-tools")).to_be_visible()


def test_histogram_shows_a_new_rating_at_once(book: Book, open_page: OpenPage) -> None:
    page = log_in(open_page(), book)
    for stars, mean in ((4, "4.00"), (2, "2.00")):
        page.get_by_role("radio", name=f"{stars} stars").check(force=True)
        expect(page.locator(".readers")).to_contain_text(re.compile(f"{mean}[^0]*1 rating on Diptych"))
        expect(page.locator(".book-head .book-rating")).to_contain_text(f"{mean} · 1 rating on Diptych")
        expect(page.get_by_role("row", name=re.compile(f"^{stars} stars")).locator(".number")).to_have_text("1")
    page.get_by_role("button", name="Remove rating").click()
    expect(page.locator(".histogram")).to_have_count(0)
    expect(page.get_by_text("1 rating on Diptych")).to_have_count(0)
    page.get_by_role("button", name="Want to read", exact=True).click()
    expect(page.get_by_text("1 reader wants to read this")).to_be_visible()
