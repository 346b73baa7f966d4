"""The two strips of recommendations on a book's page, and the parts around them."""

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Author, Book
from shop.models import Product, Recommendation
from social.services.posts import create_post
from tests.browser.conftest import LOOKS, Audit, OpenPage, find_overflows, resize
from tests.browser.test_loginlog import sign_in
from tests.support.warm_mirrors import rebuild


@pytest.fixture
def first(books: list[Book]) -> Book:
    """Return a book with recommendations of all others."""
    Product.objects.bulk_create(Product(pk=book.pk, price=1250, stock=9) for book in books)
    others = [book.pk for book in books[1:]]
    Recommendation.objects.create(
        pk=books[0].pk,
        bought=[[pk, 30.0 - n, 9] for n, pk in enumerate(reversed(others))],
        viewbuy=[[pk, 0.9 - n / 100, 60 - n, 99] for n, pk in enumerate(others)],
    )
    rebuild()
    return books[0]


def test_strips_fit_the_page_and_link_to_books(first: Book, open_page: OpenPage, audit: Audit) -> None:
    page = open_page()
    for look in LOOKS:
        page.goto(f"/books/{first.pk}/")
        assert page.locator(".recommended .card").count() == 16
        assert audit(page, [look]) == []
        card = page.locator(".recommended .card").first
        assert "60% bought it" in card.inner_text()
        card.get_by_role("link").first.click()
        page.wait_for_url(f"**/books/{first.pk + 1}/")


def test_parts_below_a_book_have_titles_of_one_rank(first: Book, open_page: OpenPage) -> None:
    Book.objects.filter(pk=first.pk).update(year=1990)  # one of its details
    create_post(User.objects.create_user("rita").pk, "Well read.", book_id=first.pk)
    rebuild()
    page = open_page()
    for width in (1280, 640, 390):
        resize(page, width)
        page.goto(f"/books/{first.pk}/")
        parts = page.evaluate("""
            () => ["reviews-title", "viewbuy", "bought", "said"].map(id => {
                const title = document.getElementById(id), part = title.closest("section");
                const before = part.previousElementSibling.getBoundingClientRect().bottom;
                const above = part.getBoundingClientRect().top - before;
                return [title.tagName, getComputedStyle(title).fontSize, Math.round(above)];
            })
        """)
        assert {tuple(part) for part in parts} == {("H2", parts[0][1], 36)}
        titles = page.locator("main h2").all_inner_texts()
        assert titles.index("Details") < titles.index("Tags") < titles.index("Reviews")


def measure_columns(page: Page) -> list[tuple[int, int]]:
    """Return the left edge and the width of each post."""
    boxes = [post.bounding_box() for post in page.locator(".said .posts > li").all()]
    return [(round(box["x"]), round(box["width"])) for box in boxes if box]


def test_posts_about_books_are_as_wide_as_the_parts_above_them(
    first: Book, open_page: OpenPage, live_server: LiveServer
) -> None:
    rita = User.objects.create_user("rita")
    author = Author.objects.create(name="Ann Author")
    first.authors.add(author)
    for n in range(4):
        create_post(rita.pk, f"Post {n}", book_id=first.pk)
    rebuild()
    page = sign_in(open_page(), rita, live_server)
    # Beside the cover of the book, and below the books of the author.
    for address, columns in (
        (f"/books/{first.pk}/", [(416, 792)] * 4),
        (f"/authors/{author.pk}/", [(72, 560), (648, 560)] * 2),
    ):
        page.goto(address)
        resize(page, 1280)
        assert measure_columns(page) == columns
        assert page.locator(".said .posts > li").all_inner_texts()[0].find("Post 3") > 0
        if form := page.locator(".said > .composer").all():
            box = form[0].bounding_box()
            assert box
            assert (round(box["x"]), round(box["width"])) == columns[0]
        resize(page, 390)
        assert len(set(measure_columns(page))) == 1
        assert find_overflows(page, (320, 640, 1920)) == []


def test_cover_price_and_button_are_above_the_fold(first: Book, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(f"/books/{first.pk}/")
    for width in (390, 640, 700, 800, 1280):
        resize(page, width)
        for part in (".book-cover", ".buy-box .price", ".buy-box .button"):
            box = page.locator(part).first.bounding_box()
            assert box, (part, width)
            assert box["y"] + box["height"] < 760, (part, width)  # a phone's window without its bars
        assert page.locator(".buy-box .button").first.bounding_box()["width"] > 100, width  # type: ignore[index]
