"""Reviews of rows."""

from collections.abc import Sequence
from datetime import date

from catalog.library.changes.rows import Chunk, get_book_id
from catalog.library.formats import ImportedBook
from catalog.library.models import ImportRow
from catalog.library.reviews import NewReview, create_reviews, delete_reviews, find_reviews


def apply_reviews(user_id: int, chunk: Chunk, today: date) -> None:
    """Write the reviews of books without one."""
    writers: dict[int, ImportRow] = {}
    reviews: list[NewReview] = []
    for row, told in chunk.pairs():
        book = get_book_id(row)
        if told.review and book not in writers:
            writers[book] = row
            reviews.append(NewReview(book, told.review, _guess_day(told, today)))
    made = create_reviews(user_id, reviews)
    for review in reviews:
        if review.book_id in made:
            writers[review.book_id].changes["review"] = [made[review.book_id], review.text]


def preview_reviews(user_id: int, chunk: Chunk) -> None:
    """Note in each row whether ``apply_reviews`` would write its review."""
    taken = set(find_reviews(user_id, sorted(chunk.books)))
    for row, told in chunk.pairs():
        book = get_book_id(row)
        if told.review and book not in taken:
            taken.add(book)
            row.changes["review"] = [0, told.review]


def _guess_day(told: ImportedBook, today: date) -> date:
    """Return the day on which the book was finished, or else shelved: no file tells when a review was written."""
    day = told.added_on or today
    if told.readings and told.readings[0].end:
        day = told.readings[0].end.day
    return min(day, today)


def undo_reviews(user_id: int, rows: Sequence[ImportRow]) -> None:
    """Delete the reviews that rows wrote, if they are unchanged."""
    reviews: dict[int, str] = {}
    for row in rows:
        if "review" in row.changes:
            pk, text = row.changes["review"]
            reviews[pk] = text
    delete_reviews(user_id, reviews)
