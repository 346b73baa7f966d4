"""The interface to the application that stores reviews, which registers itself, because the catalogue knows none."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple


class NewReview(NamedTuple):
    """A review of a file. text: Markdown. day: when it was written, as far as the file tells."""

    book_id: int
    text: str
    day: date


class ReviewStore(NamedTuple):
    """create: writes a reader's reviews of books without one, and returns the ids of those that it wrote, by book.

    delete: deletes those of these reviews (text by id) that still have this text. Both belong to the present
    transaction. find: returns the texts of a reader's reviews by book. query_books: returns a query of the books of
    these reviews, each as ``book_id``. clean: returns a text as it is stored, "" if no review may have it.
    """

    create: Callable[[int, Sequence[NewReview]], Mapping[int, int]]
    delete: Callable[[int, Mapping[int, str]], None]
    find: Callable[[int, Sequence[int]], Mapping[int, str]]
    query_books: Callable[[int], Any]
    clean: Callable[[str], str]


_stores: list[ReviewStore] = []


def register_review_store(store: ReviewStore) -> None:
    """Register the store of reviews."""
    _stores[:] = [store]


def create_reviews(user_id: int, reviews: Sequence[NewReview]) -> Mapping[int, int]:
    """Return the ids of the new reviews by book."""
    made: dict[int, int] = {}
    for store in _stores:
        made.update(store.create(user_id, reviews) if reviews else {})
    return made


def delete_reviews(user_id: int, reviews: Mapping[int, str]) -> None:
    """Delete unchanged reviews."""
    for store in _stores:
        if reviews:
            store.delete(user_id, reviews)


def find_reviews(user_id: int, book_ids: Sequence[int]) -> Mapping[int, str]:
    """Return the texts of a reader's reviews by book."""
    found: dict[int, str] = {}
    for store in _stores:
        found.update(store.find(user_id, book_ids))
    return found


def clean_review(text: str) -> str:
    """Return a text as a review has it; "" if no review may have it."""
    for store in _stores:
        text = store.clean(text)
    return text


def query_reviewed_books(user_id: int) -> list[Any]:
    """Return queries of the books that a reader has reviewed, each as ``book_id``."""
    return [store.query_books(user_id) for store in _stores]
