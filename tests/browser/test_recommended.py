"""The two strips of recommendations on a book's page."""

import pytest

from catalog.models import Book
from shop.models import Product, Recommendation
from tests.browser.conftest import LOOKS, Audit, OpenPage
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
        assert page.locator(".recommended .strip-book").count() == 16
        assert audit(page, [look]) == []
        card = page.locator(".recommended .strip-book").first
        assert "Bought by 60% of viewers" in card.inner_text()
        card.get_by_role("link").first.click()
        page.wait_for_url(f"**/books/{first.pk + 1}/")
