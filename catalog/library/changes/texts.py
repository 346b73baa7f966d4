"""Reviews of rows."""

from collections.abc import Sequence
from datetime import date

from catalog.library.changes.rows import Chunk, get_book_id, note_left_out
from catalog.library.formats import ImportedBook
from catalog.library.models import ImportRow
from catalog.library.reviews import NewReview, clean_review, create_reviews, delete_reviews, find_reviews


def apply_reviews(user_id: int, chunk: Chunk, today: date) -> None:
    """Write the reviews of books without one."""
    writers = _find_writers(user_id, chunk)
    reviews = []
    for book, (_row, told) in writers.items():
        reviews.append(NewReview(book, told.review, _guess_day(told, today)))
    made = create_reviews(user_id, reviews)
    for book, pk in made.items():
        row, told = writers[book]
        row.changes["review"] = [pk, told.review]


def preview_reviews(user_id: int, chunk: Chunk) -> None:
    """Note in each row whether ``apply_reviews`` would write its review."""
    for row, told in _find_writers(user_id, chunk).values():
        row.changes["review"] = [0, told.review]


def _find_writers(user_id: int, chunk: Chunk) -> dict[int, tuple[ImportRow, ImportedBook]]:
    """Return the first row with a review of each book without one, and note in the others that it is left out."""
    texts = dict(find_reviews(user_id, sorted(chunk.books)))
    found: dict[int, tuple[ImportRow, ImportedBook]] = {}
    for row, told in chunk.pairs():
        book, text = get_book_id(row), clean_review(told.review)
        if text and book not in texts:
            texts[book] = text
            found[book] = (row, told)
        elif told.review and text != texts.get(book):
            note_left_out(row, "review" if text else "long")
    return found


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
