"""Apply rows to a reader's shelves, readings, reviews and lists, and undo that.

What the reader already has is never overwritten: a row fills only empty fields. Each row notes what it changed, so an
undo changes only that, and leaves what the reader has changed since. All writes of a chunk belong to one transaction of
the caller, and are bulk writes, because 20,000 single ones would take minutes. They send no signal, so no follower's
timeline shows imported ratings.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from django.db.models import Count, Max

from catalog.library.formats import ImportedBook, ImportedReading
from catalog.library.models import ImportRow, LibraryImport
from catalog.library.reviews import NewReview, create_reviews, delete_reviews
from catalog.lists.models import MAX_BOOKS, MAX_LISTS, ListedBook, ReadingList
from catalog.lists.models import MAX_NAME_LENGTH as MAX_LIST_NAME
from catalog.lists.services import GAP
from catalog.shelves.models import EarlierReading, Precision, Privacy, Shelf, ShelfEntry

ENTRY_FIELDS: Final = ("shelf", "stars", "shelved_on", "started_on", "finished_on", "finished_precision")


class Chunk(NamedTuple):
    """Rows of one import, each with what it tells and its book."""

    rows: Sequence[ImportRow]
    told: Sequence[ImportedBook]

    @property
    def books(self) -> set[int]:
        """The ids of the books."""
        return {row.book_id for row in self.rows if row.book_id}

    def pairs(self) -> Iterable[tuple[ImportRow, ImportedBook]]:
        """Return the rows with what they tell."""
        return zip(self.rows, self.told, strict=True)


def apply_chunk(load: LibraryImport, chunk: Chunk, today: date) -> None:
    """Apply rows with a book, and note in each row what it changed. The rows and the import are not saved."""
    for row in chunk.rows:
        row.changes = {}
    _apply_entries(load.user_id, chunk, today)
    _apply_reviews(load.user_id, chunk, today)
    _apply_lists(load, chunk, today)


def undo_chunk(load: LibraryImport, rows: Sequence[ImportRow]) -> None:
    """Undo the changes of rows, the last one first. The rows are not saved."""
    changes = [(row, row.changes) for row in rows if row.book_id]
    ListedBook.objects.filter(pk__in=[pk for _, one in changes for pk in one.get("listed", ())]).delete()
    EarlierReading.objects.filter(pk__in=[pk for _, one in changes for pk in one.get("readings", ())]).delete()
    reviews = {one["review"][0]: one["review"][1] for _, one in changes if "review" in one}
    delete_reviews(load.user_id, reviews)
    _undo_entries(load.user_id, changes)
    for row in rows:
        row.changes = {}


def delete_empty_lists(load: LibraryImport) -> None:
    """Delete the lists that the import made, if they are empty."""
    ReadingList.objects.filter(pk__in=load.lists, user_id=load.user_id, books=None).delete()
    load.lists = []


# --- entries and readings -------------------------------------------------------------------------


def _lock_entries(user_id: int, books: Iterable[int]) -> dict[int, ShelfEntry]:
    rows = ShelfEntry.objects.select_for_update().filter(user_id=user_id, book_id__in=list(books))
    return {entry.book_id: entry for entry in rows.order_by("pk")}


def _apply_entries(user_id: int, chunk: Chunk, today: date) -> None:
    entries = _lock_entries(user_id, chunk.books)
    ends: dict[int, set[date | None]] = defaultdict(set)
    earlier = EarlierReading.objects.filter(user_id=user_id, book_id__in=chunk.books)
    for book, end in earlier.values_list("book_id", "finished_on"):
        ends[book].add(end)
    created: list[ShelfEntry] = []
    filled: dict[int, ShelfEntry] = {}
    readings: list[tuple[ImportRow, EarlierReading]] = []
    for row, told in chunk.pairs():
        entry = entries.get(row.book_id or 0)
        if entry is None:
            entry = entries[row.book_id or 0] = _make_entry(user_id, row.book_id or 0, told, today)
            created.append(entry)
            row.changes["made"] = _describe_entry(entry)
        elif fields := _fill_entry(entry, told):
            row.changes["filled"] = fields
            filled[entry.pk] = entry
        for one in _list_earlier(entry, told):
            # By its end, because a file tells no more of most readings.
            if one.finished_on not in ends[entry.book_id]:
                ends[entry.book_id].add(one.finished_on)
                readings.append((row, one))
    ShelfEntry.objects.bulk_create(created)
    if stored := [entry for pk, entry in filled.items() if pk]:
        ShelfEntry.objects.bulk_update(stored, ENTRY_FIELDS)
    EarlierReading.objects.bulk_create([one for _, one in readings])
    for row, one in readings:
        row.changes.setdefault("readings", []).append(one.pk)


def _make_entry(user_id: int, book_id: int, told: ImportedBook, today: date) -> ShelfEntry:
    entry = ShelfEntry(user_id=user_id, book_id=book_id, shelf=told.shelf, stars=told.stars)
    entry.shelved_on = told.added_on or today
    latest = _find_latest(told)
    if latest is not None:
        _set_dates(entry, latest)
    return entry


def _find_latest(told: ImportedBook) -> ImportedReading | None:
    """Return the present or latest reading. A book that the reader wants to read has only earlier ones."""
    if not told.readings or told.shelf == Shelf.WANT:
        return None
    if told.shelf == Shelf.READING:
        return next((one for one in told.readings if one.end is None), None)
    return told.readings[0]


def _set_dates(entry: ShelfEntry | EarlierReading, one: ImportedReading) -> None:
    entry.started_on = one.start.day if one.start else None
    entry.finished_on = one.end.day if one.end else None
    entry.finished_precision = Precision.YEAR if one.end and one.end.is_year else Precision.DAY


def _fill_entry(entry: ShelfEntry, told: ImportedBook) -> dict[str, Any]:
    """Fill the empty fields of an entry. Return the values by field. An entry without a key is filled before it is saved."""
    before = _describe_entry(entry)
    if entry.stars is None:
        entry.stars = told.stars
    latest = _find_latest(told)
    is_undated = entry.started_on is None and entry.finished_on is None
    if latest is not None and is_undated and entry.shelf == told.shelf:
        _set_dates(entry, latest)
    return {name: value for name, value in _describe_entry(entry).items() if value != before[name]}


def _list_earlier(entry: ShelfEntry, told: ImportedBook) -> Iterable[EarlierReading]:
    """Yield the ended readings of a row that are not the entry's."""
    for one in told.readings:
        if one.end is None or one.end.day == entry.finished_on:
            continue
        reading = EarlierReading(user_id=entry.user_id, book_id=entry.book_id)
        _set_dates(reading, one)
        yield reading


def _describe_entry(entry: ShelfEntry) -> dict[str, Any]:
    """Return the fields of an entry as JSON."""
    fields = {name: getattr(entry, name) for name in ENTRY_FIELDS}
    return {name: value.isoformat() if isinstance(value, date) else value for name, value in fields.items()}


def _undo_entries(user_id: int, changes: Sequence[tuple[ImportRow, dict[str, Any]]]) -> None:
    entries = _lock_entries(user_id, {row.book_id for row, _ in changes if row.book_id})
    read_again = set(
        EarlierReading.objects.filter(user_id=user_id, book_id__in=list(entries)).values_list("book_id", flat=True)
    )
    emptied: dict[int, ShelfEntry] = {}
    removed: set[int] = set()
    for row, one in changes:
        entry = entries.get(row.book_id or 0)
        if entry is None or entry.pk in removed:
            continue
        present = _describe_entry(entry)
        # The reader may have changed a field since, or noted a reading.
        for name, value in one.get("filled", {}).items():
            if present[name] == value:
                setattr(entry, name, Precision.DAY if name == "finished_precision" else None)
                emptied[entry.pk] = entry
        if "made" in one and one["made"] == _describe_entry(entry) and entry.book_id not in read_again:
            removed.add(entry.pk)
    kept = [entry for pk, entry in emptied.items() if pk not in removed]
    if kept:
        ShelfEntry.objects.bulk_update(kept, ENTRY_FIELDS)
    ShelfEntry.objects.filter(pk__in=removed).delete()


# --- reviews --------------------------------------------------------------------------------------


def _apply_reviews(user_id: int, chunk: Chunk, today: date) -> None:
    wanted: dict[int, tuple[ImportRow, NewReview]] = {}
    for row, told in chunk.pairs():
        if told.review and row.book_id not in wanted:
            ends = [one.end.day for one in told.readings if one.end and not one.end.is_year]
            # No file tells when a review was written.
            day = min([*ends[:1], told.added_on or today, today][0], today)
            wanted[row.book_id or 0] = row, NewReview(row.book_id or 0, told.review, day)
    made = create_reviews(user_id, [review for _, review in wanted.values()])
    for book, pk in made.items():
        row, review = wanted[book]
        row.changes["review"] = [pk, review.text]


# --- lists ----------------------------------------------------------------------------------------


def _apply_lists(load: LibraryImport, chunk: Chunk, today: date) -> None:
    lists = _find_lists(load, {name[:MAX_LIST_NAME] for told in chunk.told for name in told.lists})
    ids = [one.pk for one in lists.values()]
    rows = ListedBook.objects.filter(reading_list__in=ids)
    listed = set(rows.filter(book_id__in=chunk.books).values_list("reading_list_id", "book_id"))
    last: dict[int, int] = defaultdict(int)
    counts: dict[int, int] = defaultdict(int)
    for pk, position, count in rows.values_list("reading_list_id").annotate(Max("position"), Count("pk")).order_by():
        last[pk], counts[pk] = position, count
    made: list[tuple[ImportRow, ListedBook]] = []
    for row, told in chunk.pairs():
        for name in dict.fromkeys(name[:MAX_LIST_NAME] for name in told.lists):
            found = lists.get(name.casefold())
            if found is None or (found.pk, row.book_id) in listed or counts[found.pk] >= MAX_BOOKS:
                continue
            listed.add((found.pk, row.book_id or 0))
            counts[found.pk] += 1
            last[found.pk] += GAP
            one = ListedBook(reading_list=found, book_id=row.book_id, position=last[found.pk])
            one.added_on = told.added_on or today
            made.append((row, one))
    ListedBook.objects.bulk_create([one for _, one in made])
    for row, one in made:
        row.changes.setdefault("listed", []).append(one.pk)


def _find_lists(load: LibraryImport, names: set[str]) -> dict[str, ReadingList]:
    """Return the reader's lists with these names, by the name in lower case, under their locks.

    Missing ones are made up to the limit, visible only to the reader, who may not want to publish them here.
    """
    if not names:
        return {}
    own = list(ReadingList.objects.select_for_update().filter(user_id=load.user_id).order_by("pk"))
    lists = {one.name.casefold(): one for one in reversed(own)}
    missing = [name for name in sorted(names) if name.casefold() not in lists]
    for name in missing[: max(0, MAX_LISTS - len(own))]:
        if name.casefold() not in lists:
            made = ReadingList.objects.create(user_id=load.user_id, name=name, privacy=Privacy.ME)
            lists[name.casefold()] = made
            load.lists.append(made.pk)
    return {key: one for key, one in lists.items() if key in {name.casefold() for name in names}}
