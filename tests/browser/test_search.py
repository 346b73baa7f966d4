"""The search, by keyboard only. ``test_walks`` searches without JavaScript too."""

import re

import pytest
from playwright.sync_api import Page, expect

from catalog.models import Book
from mirror.relay.drains import drain_all
from tests.browser.conftest import Audit, OpenPage, find_overflows, settled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def hobbit(books: list[Book]) -> Book:
    Book.objects.filter(pk=books[0].pk).update(title="The Hobbit")
    drain_all()
    return books[0]


def test_book_is_found_by_keyboard(person: Page, hobbit: Book) -> None:
    person.goto("/books/")
    settled(person)
    box = person.get_by_role("banner").get_by_role("combobox")
    person.keyboard.press("/")
    expect(box).to_be_focused()
    person.keyboard.type("hobb")
    option = person.get_by_role("option", name="The Hobbit")
    expect(option).to_be_visible()
    expect(box).to_have_attribute("aria-expanded", "true")
    person.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", f"seek-b{hobbit.pk}")
    person.keyboard.press("Escape")
    expect(option).to_be_hidden()
    expect(box).to_have_attribute("aria-expanded", "false")
    person.keyboard.press("ArrowDown")
    person.keyboard.press("Enter")
    expect(person).to_have_url(re.compile(f"/books/{hobbit.pk}/"))
    settled(person)
    person.keyboard.press("Control+k")
    expect(person.get_by_role("banner").get_by_role("combobox")).to_be_focused()


def test_slash_can_be_typed_into_fields(person: Page) -> None:
    person.goto("/books/")
    settled(person)
    person.get_by_text("Combine tags").click()
    person.get_by_label("Search by tags").focus()
    person.keyboard.type("a/b")
    expect(person.get_by_label("Search by tags")).to_have_value("a/b")


def test_search_is_accessible_and_fits(open_page: OpenPage, audit: Audit) -> None:
    page = open_page()
    for path in ("/search/", "/search/?q=hobit", "/search/?q=example+fantasy", "/search/?q=zzzz"):
        page.goto(path)
        assert audit(page) == [], path
        assert find_overflows(page, [320, 768, 1920]) == [], path
    page.goto("/books/")
    settled(page)
    page.get_by_role("banner").get_by_role("combobox").press_sequentially("fan")
    expect(page.get_by_role("option").first).to_be_visible()
    assert audit(page) == []
