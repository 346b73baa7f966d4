"""Long words and right-to-left text in names and titles, at the width of the smallest phones."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Author, Book
from catalog.shelves.models import ShelfEntry
from shop.models import Product
from social.services.posts import create_post
from tests.browser.conftest import OpenPage, find_overflows, settled
from tests.browser.test_loginlog import sign_in
from tests.support.catalog.make import make_book
from tests.support.search.queries import warm_search

pytestmark = pytest.mark.django_db(transaction=True)
SMALLEST = 320  # pixels, of phones and of a window at 400%
WORD = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch" * 2
ARABIC = "موسم الهجرة إلى الشمال"


def _pages(book: Book, author: Author) -> list[str]:
    return [
        "/books/",
        f"/books/{book.pk}/",
        f"/books/{book.pk}/posts/",
        f"/authors/{author.pk}/",
        f"/authors/{author.pk}/posts/",
        f"/search/?q={WORD}",
        "/shop/cart/",
        "/shop/checkout/",
        "/shelves/reading/",
        "/global/",
        "/",
    ]


@pytest.fixture
def reader(open_page: OpenPage, live_server: LiveServer) -> Page:
    """Return the page of a logged-in reader with a book on a shelf and in the cart."""
    book = make_book(f"{WORD} ({WORD}, #1)", authors=f"{WORD},{WORD[::-1]}", tags="salt", original_title=WORD)
    Product.objects.create(book=book, price=1000, stock=5)
    user = User.objects.create_user("ann")
    ShelfEntry.objects.create(user=user, book=book, shelf="reading", shelved_on="2026-01-01")
    create_post(user.pk, WORD, book_id=book.pk)
    warm_search()
    page = sign_in(open_page(viewport={"width": SMALLEST, "height": 640}), user, live_server)
    page.goto(f"/books/{book.pk}/")
    page.get_by_role("button", name="Add to cart").click()
    settled(page)
    return page


def test_a_long_word_is_broken_on_every_page(reader: Page) -> None:
    wide = {}
    for path in _pages(Book.objects.get(), Author.objects.get(name=WORD)):
        reader.goto(path)
        settled(reader)
        if found := find_overflows(reader, [SMALLEST]):
            wide[path] = found
    assert wide == {}


def test_titles_take_the_direction_of_their_script(open_page: OpenPage) -> None:
    author = "الطيب صالح"
    book = make_book(ARABIC, authors=author)
    warm_search()
    page = open_page(viewport={"width": SMALLEST, "height": 640})
    for path in ("/books/", f"/books/{book.pk}/", f"/search/?q={ARABIC}", f"/authors/{Author.objects.get().pk}/"):
        page.goto(path)
        settled(page)
        words = page.locator("main").locator("h1, h2, h3, bdi")  # covers are pictures, whose text has no direction
        for text in (ARABIC, author):
            shown = words.filter(has_text=re.compile(f"^{text}$")).first
            expect(shown).to_be_visible()
            assert shown.evaluate("element => getComputedStyle(element).direction") == "rtl", (path, text)
