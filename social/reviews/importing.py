"""Reviews of imported libraries, for ``catalog.library``. They appear at their books, but on no timeline."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time
from typing import Any

from django.core.exceptions import ValidationError

from catalog.library.reviews import NewReview, ReviewStore, register_review_store
from common import clock
from social.models import Post, new_key
from social.reviews.models import Review
from social.reviews.services import Draft, clean_draft


def register() -> None:
    """Let imports write reviews."""
    register_review_store(ReviewStore(create_reviews, delete_reviews, find_reviews, query_books, clean))


def create_reviews(user_id: int, reviews: Sequence[NewReview]) -> Mapping[int, int]:
    """Write a reader's reviews of books without one, in bulk, in the present transaction. Return their ids by book.

    A text that no review may have, because it is too long or has no visible character, is left out. Names in old
    reviews mention nobody here. A review takes the place of the post of a rating, which an undo does not bring back.
    """
    known = Review.objects.filter(user_id=user_id, book_id__in=[one.book_id for one in reviews])
    rated = dict(known.filter(text="").values_list("book_id", "pk"))
    taken = set(known.exclude(text="").values_list("book_id", flat=True))
    posts, rows = [], []
    # In the order of their dates, as if they had been written here.
    for one in sorted(reviews, key=lambda one: one.day):
        if one.book_id in taken:
            continue
        try:
            content = clean_draft(Draft(one.text, None))
        except ValidationError:
            continue
        post = Post(user_id=user_id, book_id=one.book_id, kind=Post.Kind.REVIEW, text=content.excerpt, is_quiet=True)
        # At noon, which is on that day in nearly all time zones; a review of today is not of a later hour.
        post.key, post.created_at = new_key(), min(datetime.combine(one.day, time(12), UTC), clock.now())
        posts.append(post)
        rows.append(Review(user_id=user_id, book_id=one.book_id, text=content.text))
    Post.objects.filter(pk__in=[rated[row.book_id] for row in rows if row.book_id in rated]).delete()
    Post.objects.bulk_create(posts)
    for post, row in zip(posts, rows, strict=True):
        row.post = post
    Review.objects.bulk_create(rows)
    return {post.book_id: post.pk for post in posts if post.book_id}


def delete_reviews(user_id: int, reviews: Mapping[int, str]) -> None:
    """Delete imported reviews, except those that their reader has changed since."""
    found = dict(Review.objects.filter(user_id=user_id, pk__in=list(reviews)).values_list("pk", "text"))
    unchanged = [pk for pk, text in found.items() if clean(reviews[pk]) == text]
    Post.objects.filter(user_id=user_id, pk__in=unchanged).delete()


def find_reviews(user_id: int, book_ids: Sequence[int]) -> Mapping[int, str]:
    """Return the texts of a reader's reviews by book."""
    rows = Review.objects.filter(user_id=user_id, book_id__in=list(book_ids)).exclude(text="")
    return dict(rows.values_list("book_id", "text"))


def query_books(user_id: int) -> Any:
    """Return a query of the books that a reader has reviewed, each as ``book_id``."""
    rows = Review.objects.filter(user_id=user_id, book__isnull=False).exclude(text="")
    return rows.values_list("book_id", flat=True)


def clean(text: str) -> str:
    """Return a text as a review has it; "" for a text that no review may have."""
    try:
        return clean_draft(Draft(text, None)).text
    except ValidationError:
        return ""
