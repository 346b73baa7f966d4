"""The statistics of a reader's year: every reading that was finished in it, with pages, stars, tags and authors.

SQL returns the readings of the year, and Python counts them. A reading without a date belongs to no year.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, ExtractYear

from catalog.models import Author, Book, Tagging
from catalog.shelves.models import EarlierReading, Precision, ReadingGoal, Shelf, ShelfEntry
from mirror.conf import setting

MAX_NAMES: Final = 10  # of tags and authors


class FinishedReading(NamedTuple):
    """A reading that ended in the year. pages, stars: None if unknown. stars: in halves."""

    book: int
    finished_on: date
    precision: str
    pages: int | None
    stars: int | None


class Month(NamedTuple):
    """The books and pages of a month; number 0: the readings of which only the year is known."""

    number: int
    books: int
    pages: int


class Named(NamedTuple):
    """A tag or an author with the number of books that were read in the year."""

    name: str
    books: int


class BookLength(NamedTuple):
    """A book that was read in the year, with its number of pages."""

    id: int
    title: str
    pages: int


class YearStatistics(NamedTuple):
    """The statistics of a year. books counts readings; the other figures count each book once.

    unknown_pages: readings of books with an unknown number of pages. goal: None without a goal.
    """

    year: int
    books: int
    pages: int
    unknown_pages: int
    months: list[Month]
    stars: dict[int, int]
    tags: list[Named]
    authors: list[Named]
    longest: BookLength | None
    shortest: BookLength | None
    goal: int | None

    @property
    def mean_stars(self) -> float | None:
        """The mean rating in stars, or None without ratings."""
        rated = sum(self.stars.values())
        return sum(halves * count for halves, count in self.stars.items()) / 2 / rated if rated else None


def load_statistics(user_id: int, year: int, shelves: Collection[Shelf] = tuple(Shelf)) -> YearStatistics:
    """Return the statistics of a reader's year, in seven statements.

    shelves: those that the visitor may see. Readings of books on other shelves do not count.
    """
    readings = load_readings(user_id, year, shelves)
    months = [_count_month(number, readings) for number in range(13)]
    lengths, stars = _describe_books(readings)
    book_ids = {reading.book for reading in readings}
    return YearStatistics(
        year=year,
        books=len(readings),
        pages=sum(month.pages for month in months),
        unknown_pages=sum(reading.pages is None for reading in readings),
        months=months,
        stars=dict(sorted(stars.items(), reverse=True)),
        tags=_count_names(Tagging.objects.filter(book_id__in=book_ids, tag__hidden=False), "tag__name"),
        authors=_count_names(Author.books.through.objects.filter(book_id__in=book_ids), "author__name"),
        longest=_find_book(lengths, longest=True),
        shortest=_find_book(lengths, longest=False),
        goal=_find_goal(user_id, year),
    )


def load_readings(user_id: int, year: int, shelves: Collection[Shelf]) -> list[FinishedReading]:
    """Return the readings that a reader finished in a year, of books on these shelves, in two statements."""
    # A reader who hides this shelf hides that books were read, also those that are now on another shelf.
    if Shelf.READ not in shelves:
        return []
    columns = ("book_id", "finished_on", "finished_precision")
    latest = _select_latest(user_id).filter(finished_on__year=year)
    latest_rows = latest.values_list(*columns, Coalesce("pages", "book__pages"), "stars")
    earlier = _select_earlier(user_id, shelves).filter(finished_on__year=year)
    earlier_rows = earlier.values_list(*columns, Coalesce("own_pages", "book__pages"), "stars")
    return [FinishedReading._make(row) for row in [*latest_rows, *earlier_rows]]


def list_years(user_id: int, shelves: Collection[Shelf] = tuple(Shelf)) -> list[int]:
    """Return the years in which a reader finished books on these shelves, latest first, in two statements."""
    if Shelf.READ not in shelves:
        return []
    found: set[int] = set()
    for rows in (_select_latest(user_id), _select_earlier(user_id, shelves)):
        dated = rows.exclude(finished_on=None).order_by()
        found.update(dated.values_list(ExtractYear("finished_on"), flat=True).distinct())
    return sorted(found, reverse=True)


def _select_latest(user_id: int) -> QuerySet[Any]:
    return ShelfEntry.objects.using(setting("DATABASE")).filter(user_id=user_id, shelf=Shelf.READ)


def _select_earlier(user_id: int, shelves: Iterable[Shelf]) -> QuerySet[Any]:
    """Return the earlier finished readings of books on these shelves, with ``own_pages`` and ``stars`` of the entry."""
    entries = ShelfEntry.objects.filter(user_id=user_id, book_id=OuterRef("book_id"))
    rows = EarlierReading.objects.using(setting("DATABASE")).filter(user_id=user_id, is_finished=True)
    rows = rows.annotate(shelf=Subquery(entries.values("shelf"))).filter(shelf__in=list(shelves))
    return rows.annotate(own_pages=Subquery(entries.values("pages")), stars=Subquery(entries.values("stars")))


def _count_month(number: int, readings: Sequence[FinishedReading]) -> Month:
    chosen = [reading for reading in readings if _find_month(reading) == number]
    return Month(number, len(chosen), sum(reading.pages or 0 for reading in chosen))


def _find_month(reading: FinishedReading) -> int:
    return 0 if reading.precision == Precision.YEAR else reading.finished_on.month


def _describe_books(readings: Sequence[FinishedReading]) -> tuple[dict[int, int], Counter[int]]:
    """Return the known numbers of pages by book, and the number of books with each rating."""
    # By book, because one that was read twice in the year has one length and one rating.
    lengths: dict[int, int] = {}
    ratings: dict[int, int] = {}
    for reading in readings:
        if reading.pages:
            lengths[reading.book] = reading.pages
        if reading.stars is not None:
            ratings[reading.book] = reading.stars
    return lengths, Counter(ratings.values())


def _count_names(links: QuerySet[Any], path: str) -> list[Named]:
    counted = links.using(setting("DATABASE")).values(name=F(path)).annotate(books=Count("pk"))
    rows = counted.order_by("-books", "name")[:MAX_NAMES]
    return [Named(row["name"], row["books"]) for row in rows]


def _find_book(lengths: dict[int, int], *, longest: bool) -> BookLength | None:
    if not lengths:
        return None
    # Of equally long books that with the lower id, so that each page names the same one.
    sign = -1 if longest else 1
    book_id = min(lengths, key=lambda pk: (sign * lengths[pk], pk))
    title = Book.objects.using(setting("DATABASE")).filter(pk=book_id).values_list("title", flat=True).first()
    return BookLength(book_id, title or "", lengths[book_id])


def _find_goal(user_id: int, year: int) -> int | None:
    goals = ReadingGoal.objects.using(setting("DATABASE")).filter(reader_id=user_id, year=year)
    return goals.values_list("books", flat=True).first()
