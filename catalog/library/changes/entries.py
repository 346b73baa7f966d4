"""Entries of shelves and readings of rows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Final

from catalog.library.changes.rows import Chunk, collect_changes, get_book_id
from catalog.library.formats import ImportedBook, ImportedReading
from catalog.library.models import ImportRow
from catalog.shelves.models import EarlierReading, Precision, ReadingProgress, Shelf, ShelfEntry

FIELDS: Final = ("shelf", "stars", "shelved_on", "started_on", "finished_on", "finished_precision")
EMPTY: Final[dict[str, Any]] = dict.fromkeys(FIELDS) | {"finished_precision": Precision.DAY.value}


def apply_entries(user_id: int, chunk: Chunk, today: date) -> None:
    """Put books on shelves, fill empty fields of those that are there, and add earlier readings."""
    entries = _lock_entries(user_id, chunk.books)
    made: list[ShelfEntry] = []
    filled: dict[int, ShelfEntry] = {}
    for row, told in chunk.pairs():
        book = get_book_id(row)
        entry = entries.get(book)
        if entry is None:
            entries[book] = entry = _make_entry(user_id, book, told, today)
            made.append(entry)
            row.changes["made"] = _describe(entry)
            continue
        fields = _fill_entry(entry, told)
        if fields:
            row.changes["filled"] = fields
        # A second row of a book that is new fills the entry before it is saved.
        if fields and entry.pk:
            filled[entry.pk] = entry
    ShelfEntry.objects.bulk_create(made)
    _save(filled.values())
    _add_readings(user_id, chunk, entries)


def undo_entries(user_id: int, rows: Sequence[ImportRow]) -> None:
    """Remove earlier readings, empty the fields that rows filled, and remove the entries that they made.

    What the reader has changed since stays, and so does an entry whose book was read again or has progress.
    """
    EarlierReading.objects.filter(pk__in=collect_changes(rows, "readings")).delete()
    entries = _lock_entries(user_id, set(map(get_book_id, rows)))
    kept = _find_read_again(user_id, entries)
    emptied: dict[int, ShelfEntry] = {}
    removed: set[int] = set()
    for row in rows:
        entry = entries.get(get_book_id(row))
        if entry is None:
            continue
        # The last row first, so that the entry is again as an earlier row left it.
        if _empty_fields(entry, row.changes.get("filled", {})):
            emptied[entry.pk] = entry
        if row.changes.get("made") == _describe(entry) and entry.book_id not in kept:
            removed.add(entry.pk)
    _save(emptied.values())
    ShelfEntry.objects.filter(pk__in=removed).delete()


def _lock_entries(user_id: int, books: set[int]) -> dict[int, ShelfEntry]:
    """Lock the reader's entries of these books until the end of the transaction, and return them by book."""
    # Everything that locks several entries does so in the order of their ids: otherwise two of them could each wait
    # for the other one.
    entries = ShelfEntry.objects.select_for_update().filter(user_id=user_id, book_id__in=books).order_by("pk")
    return {entry.book_id: entry for entry in entries}


def _save(entries: Iterable[ShelfEntry]) -> None:
    changed = list(entries)
    if changed:
        ShelfEntry.objects.bulk_update(changed, FIELDS)


def _make_entry(user_id: int, book_id: int, told: ImportedBook, today: date) -> ShelfEntry:
    entry = ShelfEntry(user_id=user_id, book_id=book_id, shelf=told.shelf, stars=told.stars)
    entry.shelved_on = told.added_on or today
    latest = _find_latest(told)
    if latest is not None:
        _set_dates(entry, latest)
    return entry


def _fill_entry(entry: ShelfEntry, told: ImportedBook) -> dict[str, Any]:
    """Fill the empty fields of an entry. Return the new values by field."""
    before = _describe(entry)
    if entry.stars is None:
        entry.stars = told.stars
    latest = _find_latest(told)
    # One date beside another one of a different reading would make a wrong reading.
    is_undated = entry.started_on is None and entry.finished_on is None
    if latest is not None and is_undated and entry.shelf == told.shelf:
        _set_dates(entry, latest)
    after = _describe(entry)
    return {name: after[name] for name in FIELDS if after[name] != before[name]}


def _empty_fields(entry: ShelfEntry, filled: dict[str, Any]) -> bool:
    """Empty the fields that still have these values. Return whether there is one."""
    present = _describe(entry)
    is_changed = False
    for name, value in filled.items():
        if present[name] == value:
            setattr(entry, name, EMPTY[name])
            is_changed = True
    return is_changed


def _describe(entry: ShelfEntry) -> dict[str, Any]:
    """Return the fields of an entry as JSON."""
    fields: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(entry, name)
        fields[name] = value.isoformat() if isinstance(value, date) else value
    return fields


# --- readings -------------------------------------------------------------------------------------


def _add_readings(user_id: int, chunk: Chunk, entries: dict[int, ShelfEntry]) -> None:
    """Add the ended readings that are neither the entry's nor known."""
    known = _find_ends(user_id, chunk.books)
    for book, entry in entries.items():
        known[book].add(entry.finished_on)
    made: list[EarlierReading] = []
    makers: list[ImportRow] = []
    for row, told in chunk.pairs():
        ends = known[get_book_id(row)]
        for one in told.readings:
            # A file tells no more of most readings than their ends.
            if one.end is None or one.end.day in ends:
                continue
            ends.add(one.end.day)
            reading = EarlierReading(user_id=user_id, book_id=get_book_id(row))
            _set_dates(reading, one)
            made.append(reading)
            makers.append(row)
    EarlierReading.objects.bulk_create(made)
    for reading, row in zip(made, makers, strict=True):
        row.changes.setdefault("readings", []).append(reading.pk)


def _find_ends(user_id: int, books: set[int]) -> dict[int, set[date | None]]:
    ends: dict[int, set[date | None]] = defaultdict(set)
    rows = EarlierReading.objects.filter(user_id=user_id, book_id__in=books)
    for book, end in rows.values_list("book_id", "finished_on"):
        ends[book].add(end)
    return ends


def _find_read_again(user_id: int, entries: dict[int, ShelfEntry]) -> set[int]:
    kept: set[int] = set()
    # Progress as well: without the entry it would wait for the next reading of the book.
    for model in (EarlierReading, ReadingProgress):
        rows = model.objects.filter(user_id=user_id, book_id__in=list(entries))
        kept.update(rows.values_list("book_id", flat=True))
    return kept


def _find_latest(told: ImportedBook) -> ImportedReading | None:
    """Return the present or latest reading. A book that the reader wants to read has only earlier ones."""
    if not told.readings or told.shelf == Shelf.WANT:
        return None
    latest = told.readings[0]
    # A book that is being read has no end; its dates are those of earlier readings.
    return None if told.shelf == Shelf.READING and latest.end else latest


def _set_dates(target: ShelfEntry | EarlierReading, one: ImportedReading) -> None:
    if one.start:
        target.started_on = one.start.day
    if one.end:
        target.finished_on = one.end.day
        target.finished_precision = Precision.YEAR if one.end.is_year else Precision.DAY
