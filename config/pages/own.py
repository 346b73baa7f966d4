"""The sections of a reader's own front page. With warm mirrors they take five round trips and no SQL."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from catalog.books import BookRows
from catalog.books.records import BookRecord
from catalog.readings.volumes import find_next_volumes
from catalog.shelves.forms import get_today
from catalog.shelves.models import Shelf
from catalog.shelves.selectors import ShelfSummary, ShelvedBook, find_shelf_page, get_shelf_summary
from mirror import together
from shop.recommend.reasons import PricedBook, Reason, find_unshelved, recommend_by_books
from shop.selectors.strips import Strips, find_strips
from social.profiles.similar import Similar, find_similar_readers
from social.selectors import get_newest_home_posts
from social.timelines.pages import PostPage

MAX_READING: Final = 3  # books
MAX_FINISHED: Final = 20  # books that were read last, from which others follow
MAX_POSTS: Final = 3
MAX_SIMILAR: Final = 3  # readers
MAX_REASONS: Final = 1
MAX_VOLUMES: Final = 2  # books that are next in a series
MAX_BOOKS: Final = 8  # of a row
FEW_BOOKS: Final = 10  # on shelves; readers with fewer see a link to the first steps
LIKED_HALVES: Final = 8  # the lowest rating of a book that the reader liked, in halves of a star


class OwnBooks(NamedTuple):
    """The books of a reader's front page.

    summary: has the goal of the year. reading: latest start first. reasons: recommendations with the liked book.
    volumes: the next ones of the reader's series. similar: readers with many of these books.
    """

    summary: ShelfSummary
    reading: Sequence[ShelvedBook]
    reasons: Sequence[Reason]
    volumes: Sequence[PricedBook]
    similar: Sequence[Similar]


class OwnPage(NamedTuple):
    """A reader's front page. strips: the rows for all visitors. year: that of the goal. rows: those of the books."""

    books: OwnBooks
    posts: PostPage
    strips: Strips
    year: int
    rows: BookRows

    @property
    def has_sections(self) -> bool:
        """Whether any section has something to show."""
        books = self.books
        shown = (books.reading, books.summary.goal, books.reasons, books.volumes, books.similar, self.posts.posts)
        return any(shown)

    @property
    def is_new(self) -> bool:
        """Whether the reader has put only few books on shelves."""
        return sum(self.books.summary.counts.values()) < FEW_BOOKS


def find_own_page(user_id: int, digest: str | None) -> OwnPage:
    """Return the sections of a reader's front page. digest: of the session."""
    year = get_today().year
    with together() as reads:
        books = reads(_find_own_books, user_id, year)
        posts = reads(get_newest_home_posts, user_id, MAX_POSTS)
        strips = reads(find_strips, user_id, digest)
    rows = BookRows()
    return OwnPage(_fill_rows(rows, books.value), posts.value, strips.value, year, rows)


def _fill_rows(rows: BookRows, found: OwnBooks) -> OwnBooks:
    """Return what was found with each book once, in the order of the page."""
    reading = rows.fill(found.reading, MAX_READING, lambda entry: entry.book["id"])
    # Found nowhere else, so that the last one is shown too
    volumes = rows.fill(found.volumes, MAX_VOLUMES, _get_id, least=1)
    reasons: list[Reason] = []
    for reason in found.reasons:
        books = rows.fill(reason.books, MAX_BOOKS, _get_id) if len(reasons) < MAX_REASONS else []
        if books:
            reasons.append(Reason(reason.liked, books))
    return found._replace(reading=reading, reasons=reasons, volumes=volumes)


def _get_id(found: PricedBook) -> int:
    return found.book["id"]


def _find_own_books(user_id: int, year: int) -> OwnBooks:
    with together() as reads:
        summary = reads(get_shelf_summary, user_id, year)
        reading = reads(find_shelf_page, user_id, Shelf.READING, size=MAX_READING)
        derived = reads(_find_derived, user_id)
        similar = reads(find_similar_readers, user_id)
    reasons, volumes = derived.value
    return OwnBooks(summary.value, reading.value.entries, reasons, volumes, similar.value[:MAX_SIMILAR])


def _find_derived(user_id: int) -> tuple[list[Reason], list[PricedBook]]:
    """Return the recommendations and the next volumes, which follow from the books that were read last."""
    finished = find_shelf_page(user_id, Shelf.READ, size=MAX_FINISHED).entries
    liked = [entry.book for entry in finished if _is_liked(entry)]
    with together() as reads:
        reasons = reads(recommend_by_books, user_id, liked)
        volumes = reads(_find_volumes, user_id, [entry.book for entry in finished])
    return reasons.value, volumes.value


def _find_volumes(user_id: int, books: Sequence[BookRecord]) -> list[PricedBook]:
    return find_unshelved(user_id, find_next_volumes(books))


def _is_liked(entry: ShelvedBook) -> bool:
    stars = entry.fields["stars"]
    return stars is None or stars >= LIKED_HALVES
