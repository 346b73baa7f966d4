"""Reviews of the demo."""

from datetime import UTC, datetime

import pytest

from accounts.models import User
from catalog.shelves.models import ShelfEntry
from demo.community.reviews import MAX_REVIEWS, load_demo_reviews
from demo.people import READER_NAMES
from social.models import Like, Post
from social.reviews.models import Review
from tests.support.catalog.make import make_book

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


@pytest.fixture
def readers() -> list[User]:
    """Create readers of the demo, and three books."""
    for number in range(3):
        make_book(f"Book {number}", popularity=number)
    return [User.objects.create_user(name) for name in READER_NAMES[:8]]


def test_books_get_reviews_with_stars_and_likes(readers: list[User]) -> None:
    count = load_demo_reviews(NOW)
    assert 3 <= count == Review.objects.exclude(text="").count() <= 3 * MAX_REVIEWS
    for user_id, book in Review.objects.values_list("user_id", "book"):
        assert ShelfEntry.objects.get(user_id=user_id, book_id=book).stars
    assert Like.objects.exists()
    times = list(Post.objects.order_by("pk").values_list("created_at", flat=True))
    assert times == sorted(times)
    assert times[-1] < NOW


def test_a_second_load_adds_nothing(readers: list[User]) -> None:
    load_demo_reviews(NOW)
    before = list(Post.objects.order_by("pk").values_list("pk", "text", "edited_at")), Like.objects.count()
    load_demo_reviews(NOW)
    assert before == (list(Post.objects.order_by("pk").values_list("pk", "text", "edited_at")), Like.objects.count())


def test_a_site_without_the_demos_readers_gets_none() -> None:
    make_book("Emma")
    assert load_demo_reviews(NOW) == 0
