"""Readers' tags on a book, with JavaScript and without it, in every width and colour scheme."""

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from catalog.models import Book, Tag, Tagging
from tests.browser.conftest import Audit, OpenPage, settled
from tests.support.catalog.make import make_links
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "a quiet bookshop"


@pytest.fixture
def book(books: list[Book]) -> Book:
    """Return a book with fourteen more tags; one of these is the name of a shelf and hidden."""
    User.objects.create_user("alice", password=PASSWORD)
    make_links((books[0], f"a tag {n:02}") for n in range(13))
    make_links([(books[0], "owned")])
    Tag.objects.filter(name="owned").update(hidden=True)
    Tagging.objects.filter(book=books[0], tag__name="fantasy").update(imported_count=1234)
    rebuild()
    return books[0]


@pytest.fixture(params=[True, False], ids=["with JavaScript", "without"])
def page(request: pytest.FixtureRequest, book: Book, open_page: OpenPage) -> Page:
    return open_page(java_script_enabled=request.param)


def log_in(page: Page, book: Book) -> None:
    """Log in from the page of the book and return to it."""
    page.goto(book.get_absolute_url())
    page.get_by_role("link", name="Log in to shelve, tag or review").click()
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page).to_have_url(book.get_absolute_url())


def test_reader_adds_and_removes_a_tag(page: Page, book: Book) -> None:
    log_in(page, book)
    tags = page.locator("#book-tags")
    expect(tags.get_by_role("link", name="owned")).to_have_count(0)
    expect(tags.get_by_role("link", name="a tag 12")).to_be_hidden()
    tags.get_by_text("5 more").click()
    expect(tags.get_by_role("link", name="a tag 12")).to_be_visible()
    page.locator("summary", has_text="Add a tag").click()
    page.get_by_label("Add a tag").fill("Space Opera")
    tags.get_by_role("button", name="Add", exact=True).click()
    expect(tags.get_by_role("button", name="Remove your tag “space opera”")).to_be_visible()
    settled(page)
    tags.get_by_role("button", name="Add the tag “fantasy”").click()
    expect(tags.get_by_role("button", name="Remove your tag “fantasy”")).to_be_visible()
    expect(tags).to_contain_text("1,235")
    settled(page)
    tags.get_by_role("button", name="Remove your tag “space opera”").click()
    expect(tags.get_by_role("link", name="space opera")).to_have_count(0)


def test_tags_are_accessible_and_fit(book: Book, person: Page, audit: Audit) -> None:
    log_in(person, book)
    person.locator("#book-tags").get_by_text("5 more").click()
    assert audit(person) == []
