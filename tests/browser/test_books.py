"""Finding books by tags, with JavaScript, without it, and by keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect

from catalog.models import Book
from mirror.relay.drains import drain_all
from tests.browser.conftest import PHONE, OpenPage, settled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["person", "plain"])
def page(request: pytest.FixtureRequest, books: list[Book]) -> Page:
    """Run each test with JavaScript and without it, on a catalogue of thirty books."""
    page: Page = request.getfixturevalue(request.param)
    return page


def count(page: Page) -> str:
    return page.locator("#results").inner_text()


def test_tags_are_added_to_and_removed_from_a_query(page: Page) -> None:
    page.goto("/books/")
    page.get_by_text("Combine tags").click()
    page.get_by_label("Search by tags").fill("fantasy & young-adult")
    page.get_by_role("main").get_by_role("button", name="Search").click()
    expect(page.locator("#results")).to_have_text("13 books")
    expect(page.locator(".card-title").first).to_have_text("Book 00")
    page.get_by_role("link", name="young adult (remove)").click()
    expect(page.locator("#results")).to_have_text("25 books")
    expect(page).to_have_url("/books/?q=fantasy")
    page.get_by_role("navigation", name="Sort by").get_by_role("link", name="Newest").click()
    expect(page.locator(".card-title").first).to_have_text("Book 24")
    page.get_by_role("navigation", name="Tags of these books").get_by_role("link", name="young adult").click()
    expect(page.locator("#results")).to_have_text("13 books")
    expect(page.get_by_label("Search by tags")).to_have_value("fantasy & young-adult")
    expect(page).to_have_url(re.compile("sort=newest"))


def test_the_front_page_searches_and_buttons_combine_tags(page: Page) -> None:
    page.goto("/")
    page.get_by_role("main").get_by_role("combobox").fill("book 07")
    page.get_by_role("main").get_by_role("button", name="Search").click()
    expect(page.get_by_role("main").locator(".card-title").first).to_have_text("Book 07")
    page.get_by_role("link", name="Combine tags").click()
    for tag, way, count in (("fantasy", "with", "25 books"), ("young-adult", "and", "13 books")):
        if not page.get_by_label("Tag", exact=True).is_visible():  # without scripts, each answer folds the form
            page.get_by_text("Combine tags").click()
        page.get_by_label("Tag", exact=True).fill(tag)
        page.get_by_role("button", name=way, exact=True).click()
        expect(page.locator("#results")).to_have_text(count)
    expect(page).to_have_url("/books/?q=fantasy+%26+young-adult")
    page.get_by_role("link", name="Exclude “young adult”").click()
    expect(page.locator("#results")).to_have_text("12 books")
    page.get_by_role("link", name="Include “young adult”").click()
    expect(page.locator("#results")).to_have_text("13 books")


def test_back_button_restores_the_previous_list(page: Page) -> None:
    page.goto("/books/")
    page.get_by_role("navigation", name="Tags of these books").get_by_role("link", name="history").click()
    expect(page.locator("#results")).to_have_text("5 books")
    page.go_back()
    expect(page.locator("#results")).to_have_text("30 books")
    expect(page).to_have_url("/books/")


def test_more_books_link_shows_the_next_page(page: Page) -> None:
    page.goto("/books/")
    page.get_by_role("link", name="More books").click()
    expect(page.get_by_role("link", name="More books")).to_have_count(0)
    expect(page.locator(".card-title").last).to_have_text("Book 29")


def test_book_page_links_to_its_tags(page: Page) -> None:
    page.goto("/books/")
    page.get_by_role("link", name="Book 00").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Book 00")
    page.get_by_role("link", name="young adult").click()
    expect(page.locator("#results")).to_have_text("13 books")


def test_invalid_query_is_marked_and_can_be_corrected(page: Page) -> None:
    page.goto("/books/")
    page.get_by_text("Combine tags").click()
    query = page.get_by_label("Search by tags")
    query.fill("fantasy & | history")
    query.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("missing")
    expect(page.locator("mark")).to_have_text(re.compile("[&|]"))
    expect(query).to_have_value("fantasy & | history")
    query.fill("fantasy | history")
    query.press("Enter")
    expect(page.locator("#results")).to_have_text("30 books")


def test_misspelled_tag_gets_a_suggestion(page: Page) -> None:
    page.goto("/books/?q=fantsy")
    page.get_by_role("link", name="fantasy", exact=True).click()
    expect(page.locator("#results")).to_have_text("25 books")


def test_filters_and_orders_are_one_bar_above_the_books_on_a_phone(open_page: OpenPage, books: list[Book]) -> None:
    page = open_page(viewport=PHONE, java_script_enabled=False)
    page.goto("/books/?q=fantasy&sort=title")
    expect(page.locator(".card").first).to_be_in_viewport(ratio=1)
    summaries = [page.locator("summary", has_text=name) for name in ("Filters", "Sort by")]
    for summary, text in zip(summaries, ("Filters 1", "Sort by Title: A to Z"), strict=True):
        expect(summary).to_have_text(text)
    buttons = [summary.bounding_box() for summary in summaries]
    assert [box and (box["y"], box["width"]) for box in buttons[1:]] == [
        box and (box["y"], box["width"]) for box in buttons[:1]
    ]
    page.locator("summary", has_text="Sort by").click()
    newest = page.get_by_role("navigation", name="Sort by").get_by_role("link", name="Newest")
    page.locator("summary", has_text="Filters").click()
    expect(newest).to_be_hidden()  # one is open at a time
    expect(page.get_by_label("In stock")).to_be_in_viewport()
    page.locator("summary", has_text="Sort by").click()
    expect(page.get_by_role("link", name="Price: high to low")).to_be_visible()
    expect(page.get_by_role("link", name="Least read")).to_be_visible()
    newest.click()
    expect(page).to_have_url(re.compile("sort=newest"))


def test_facets_are_collapsed_on_a_phone(open_page: OpenPage, books: list[Book]) -> None:
    page = open_page(viewport=PHONE, java_script_enabled=False)
    page.goto("/books/")
    facet = page.get_by_role("navigation", name="Tags of these books").get_by_role("link", name="history")
    expect(facet).to_be_hidden()
    page.locator("summary", has_text="Filters").click()
    facet.click()
    expect(page.locator("#results")).to_have_text("5 books")


def test_more_books_load_without_a_reload_and_keep_the_focus(person: Page, books: list[Book]) -> None:
    person.goto("/books/")
    person.evaluate("window.untouched = true")
    person.get_by_role("link", name="More books").focus()
    person.keyboard.press("Enter")
    expect(person.locator(".card")).to_have_count(30)
    settled(person)
    expect(person.locator(".card").nth(20)).to_be_focused()
    person.keyboard.press("Tab")
    expect(person.get_by_role("link", name="Book 20")).to_be_focused()
    assert person.evaluate("window.untouched")


def test_facet_updates_the_whole_page_without_a_reload(person: Page, books: list[Book]) -> None:
    person.goto("/books/")
    person.evaluate("window.untouched = true")
    person.get_by_role("navigation", name="Tags of these books").get_by_role("link", name="history").click()
    expect(person.locator("#results")).to_be_focused()
    expect(person).to_have_title(re.compile("^history"))
    assert person.evaluate("window.untouched")
    log_in = person.get_by_role("banner").get_by_role("link", name="Log in")
    expect(log_in).to_have_attribute("href", "/accounts/login/?next=%2Fbooks%2F%3Fq%3Dhistory")


def test_titles_fit_on_their_covers(person: Page, books: list[Book]) -> None:
    titles = ["MMMMMMMM WWWWWWWWWWW", "Donaudampfschifffahrtsgesellschaftskapitän", "三体" * 40, "Word " * 60]
    for book, title in zip(books, titles, strict=False):
        Book.objects.filter(pk=book.pk).update(title=title)
    drain_all()
    person.goto("/books/")
    for title in titles:
        expect(person.get_by_role("link", name=title.strip()).first).to_be_visible()
    outside = """() => [...document.querySelectorAll('.cover text')].filter(text => {
        const box = text.getBBox();
        return box.x < 4 || box.x + box.width > 116 || box.y < 4 || box.y + box.height > 178;
    }).map(text => text.textContent)"""
    assert person.evaluate(outside) == []
