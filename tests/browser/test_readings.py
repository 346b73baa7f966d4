"""Progress, dates, readings, undo and statistics by keyboard, with JavaScript and without it."""

import re
from datetime import date

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Book
from catalog.shelves.models import EarlierReading, Precision, Shelf, ShelfEntry
from tests.browser.conftest import Audit, OpenPage
from tests.browser.test_loginlog import sign_in
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def book(transactional_db: None) -> Book:
    book = Book.objects.create(title="A fine book", pages=200)
    rebuild()
    return book


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with JavaScript", "without"])
def test_a_book_is_read_twice_by_keyboard(
    book: Book, open_page: OpenPage, audit: Audit, live_server: LiveServer, has_scripts: bool
) -> None:
    rita = User.objects.create_user("rita")
    page = sign_in(open_page(java_script_enabled=has_scripts), rita, live_server)
    page.goto(f"/books/{book.pk}/")
    page.get_by_role("button", name="Reading", exact=True).press("Enter")
    page.get_by_label("I am at").fill("50")
    page.get_by_label("Note (optional)").fill("So far, so good")
    page.get_by_role("button", name="Save progress").press("Enter")
    expect(page.get_by_text("Page 50 of 200")).to_be_visible()
    page.get_by_label("I am at").fill("100")
    page.get_by_label("Unit").select_option("percent")
    page.get_by_role("button", name="Save progress").press("Enter")
    page.get_by_role("button", name="I have finished it").press("Enter")
    expect(page.get_by_role("button", name="Read", exact=True, pressed=True)).to_be_visible()
    if has_scripts:
        findings = audit(page)
        assert findings == []
    # The last year, so that the end is not today and reading again is no correction.
    page.locator("summary", has_text="Dates and edition").press("Enter")
    if not has_scripts:
        page.get_by_label("In a year").press("Space")
    page.get_by_label("Finish year").fill("2020")
    page.get_by_label("Started").fill("")
    page.get_by_role("button", name="Save dates").press("Enter")
    page.get_by_role("button", name="Reading", exact=True).press("Enter")
    expect(page.get_by_role("link", name="1 earlier reading")).to_be_visible()
    page.get_by_role("button", name="Did not finish").press("Enter")
    expect(page.get_by_text("Now on the shelf “Did not finish”.")).to_be_visible()
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_text("Undone.")).to_be_visible()
    if has_scripts:
        expect(page.locator("#shelf-undo")).to_be_focused()
    page.get_by_role("button", name="Remove from your shelves").press("Enter")
    expect(page.get_by_role("link", name="1 earlier reading")).to_have_count(0)
    page.get_by_role("button", name="Undo").press("Enter")
    page.get_by_role("link", name="1 earlier reading").press("Enter")
    expect(page.get_by_text("So far, so good")).to_be_visible()
    reading = EarlierReading.objects.get()
    assert (reading.finished_on, reading.finished_precision) == (date(2020, 12, 31), Precision.YEAR)
    assert ShelfEntry.objects.get().shelf == Shelf.READING
    if has_scripts:
        assert audit(page) == []
    page.get_by_role("button", name="Delete this reading").press("Enter")
    expect(page.get_by_role("heading", name="Earlier readings")).to_have_count(0)
    page.get_by_role("heading", name="Add an earlier reading").scroll_into_view_if_needed()
    page.get_by_label("Finish year").fill("2019")
    page.get_by_role("button", name="Add", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Earlier readings")).to_be_visible()
    page.goto("/shelves/reading/")
    page.locator("summary", has_text="Sort and filter").press("Enter")
    page.get_by_label("Read in the year").fill("2018")
    page.get_by_role("button", name="Apply").press("Enter")
    expect(page.get_by_text("No books on this shelf match these filters.")).to_be_visible()
    page.get_by_role("link", name="Reading statistics").press("Enter")
    page.get_by_role("link", name="2019").press("Enter")
    expect(page.locator(".figures")).to_have_text(re.compile(r"Books\s*1\s*Pages\s*200"))
    if has_scripts:
        assert audit(page) == []
