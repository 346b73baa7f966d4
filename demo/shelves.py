"""Half a year of shelves and ratings for the demo's two logins, and a few shelved books of its other readers."""

from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from typing import Final

from django.utils import timezone

from accounts.models import User
from catalog.models import Book
from catalog.shelves.models import (
    ENDED_SHELVES,
    EarlierReading,
    ReadingGoal,
    ReadingProgress,
    Shelf,
    ShelfEntry,
    ShelfSettings,
)
from catalog.shelves.services import ReadingDates
from common.database import split_slices
from demo.logins import ROLES_BY_LOGIN
from demo.people import READER_NAMES
from shop.importer import bulk_insert

SEED: Final = "diptych shelves"
HISTORY_DAYS: Final = 182
GOAL_BOOKS: Final = 30
MAX_BOOKS: Final = 90  # on shelves
SPARE_BOOKS: Final = 12
# The number of a login's books on each shelf, and of another reader's books.
BOOKS_BY_SHELF: Final = {Shelf.READ: 14, Shelf.READING: 3, Shelf.WANT: 9, Shelf.ABANDONED: 2}
BOOKS_OF_READER: Final = {Shelf.READ: 4, Shelf.WANT: 3}
PAST_YEARS: Final = (1, 2, 4)  # years ago, in which the logins read some books for the first time
NOTES: Final = ("It gets better with every chapter.", "I did not expect this turn.", "")
STAR_CHOICES: Final = (4, 5, 6, 7, 8, 8, 9, 10)  # halves of a star


def load_demo_shelves(today: date | None = None) -> int:
    """Fill the shelves of people without any, up to ``today``. Return the number of added entries."""
    today = today or timezone.localdate()
    names = READER_NAMES + tuple(ROLES_BY_LOGIN)
    people = dict(User.objects.filter(username__in=names).values_list("username", "pk"))
    with_shelves = set(ShelfEntry.objects.filter(user__in=people.values()).values_list("user_id", flat=True))
    books = list(Book.objects.order_by("-popularity", "pk").values_list("pk", flat=True)[:MAX_BOOKS])
    empty = {name: pk for name, pk in sorted(people.items()) if pk not in with_shelves}
    rows: list[ShelfEntry] = []
    for name, pk in empty.items():
        rows += _invent_entries(name, pk, books, today)
    added = 0
    for some in split_slices(rows):
        added += bulk_insert(ShelfEntry, some)
    _add_readings([empty[name] for name in sorted(ROLES_BY_LOGIN.keys() & empty.keys())], today)
    for name in sorted(ROLES_BY_LOGIN.keys() & empty.keys()):
        reader, _ = ShelfSettings.objects.get_or_create(user_id=empty[name])
        ReadingGoal.objects.get_or_create(reader=reader, year=today.year, defaults={"books": GOAL_BOOKS})
    return added


def _invent_entries(name: str, user_id: int, books: list[int], today: date) -> Iterator[ShelfEntry]:
    """Yield the shelf entries of one reader."""
    # A seed of its own, so that the shelves of one reader do not depend on the others.
    random = Random(f"{SEED} {name}")
    counts = BOOKS_BY_SHELF if name in ROLES_BY_LOGIN else BOOKS_OF_READER
    shelves = list(Counter(counts).elements())
    # More than needed, because some of them give way to series.
    picked = random.sample(books, min(len(books), len(shelves) + SPARE_BOOKS))
    if name in ROLES_BY_LOGIN:
        picked = _begin_series(picked)
    for shelf, book in zip(shelves, picked, strict=False):
        yield _invent_entry(random, user_id, book, shelf, today)


def _begin_series(picked: list[int]) -> list[int]:
    """Return the books with the first volumes of all series at their start, and without any other volume."""
    volumes = Book.objects.filter(title__contains=", #").order_by("pk")
    first = list(volumes.filter(title__endswith=", #1)").values_list("pk", flat=True)[: BOOKS_BY_SHELF[Shelf.READ]])
    others = set(volumes.values_list("pk", flat=True))
    return first + [pk for pk in picked if pk not in others]


def _add_readings(user_ids: list[int], today: date) -> None:
    """Add progress in the books that these readers read now, and earlier readings of some that they have read."""
    readings, progress = [], []
    for user_id in user_ids:
        entries = ShelfEntry.objects.filter(user=user_id).select_related("book").order_by("pk")
        for entry in entries.filter(shelf=Shelf.READING):
            progress += _invent_progress(entry, today)
        for number, entry in enumerate(entries.filter(shelf=Shelf.READ)[: len(PAST_YEARS)]):
            reading = EarlierReading(user_id=user_id, book_id=entry.book_id)
            dates = ReadingDates.of_year(today.year - PAST_YEARS[number])
            reading.finished_on, reading.finished_precision = dates.finished_on, dates.finished_precision
            readings.append(reading)
    EarlierReading.objects.bulk_create(readings)
    ReadingProgress.objects.bulk_create(progress)


def _invent_progress(entry: ShelfEntry, today: date) -> list[ReadingProgress]:
    """Return two notes of progress: a page a week ago, and another one yesterday."""
    random = Random(f"{SEED} progress {entry.user_id} {entry.book_id}")
    pages = entry.book.pages or 300
    first = random.randrange(10, pages // 2)
    rows = []
    for days, page, note in ((7, first, ""), (1, random.randrange(first, pages - 10), random.choice(NOTES))):
        noted_on = max(today - timedelta(days=days), entry.started_on or today)
        rows.append(
            ReadingProgress(user_id=entry.user_id, book_id=entry.book_id, noted_on=noted_on, page=page, note=note)
        )
    return rows


def _invent_entry(random: Random, user_id: int, book: int, shelf: Shelf, today: date) -> ShelfEntry:
    # The reading of such a book began long enough ago to have ended by now.
    least_age = 45 if shelf in ENDED_SHELVES else 1
    shelved = today - timedelta(days=random.randrange(least_age, HISTORY_DAYS))
    entry = ShelfEntry(user_id=user_id, book_id=book, shelf=shelf, shelved_on=shelved)
    if shelf != Shelf.WANT:
        started = shelved + timedelta(days=random.randrange(15))
        entry.started_on = min(started, today)
        if shelf in ENDED_SHELVES:
            entry.finished_on = started + timedelta(days=random.randrange(2, 25))
        if shelf == Shelf.READ:
            entry.stars = random.choice(STAR_CHOICES)
    return entry
