"""Entries of shelves and readings of rows."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Final

from catalog.library.changes.rows import Chunk, collect_changes, get_book_id, note_left_out
from catalog.library.formats import OF_SHELF_DATES, ImportedBook, ImportedProgress, ImportedReading
from catalog.library.models import ImportRow
from catalog.readings.services import MAX_READINGS
from catalog.shelves.models import EarlierReading, Precision, ReadingProgress, Shelf, ShelfEntry

FIELDS: Final = ("shelf", "stars", "shelved_on", "started_on", "finished_on", "finished_precision", "pages")
# A row moves only books that the reader wanted to read.
EMPTY: Final[dict[str, Any]] = dict.fromkeys(FIELDS) | {
    "shelf": Shelf.WANT.value,
    "finished_precision": Precision.DAY.value,
}


def apply_entries(user_id: int, chunk: Chunk, today: date) -> None:
    """Put books on shelves, fill empty fields of those that are there, and add earlier readings."""
    plan = _Plan(user_id, _lock_entries(user_id, chunk.books))
    plan.add_rows(chunk, today)
    plan.write()


def preview_entries(user_id: int, chunk: Chunk, today: date) -> None:
    """Note in each row what ``apply_entries`` would change."""
    found = ShelfEntry.objects.filter(user_id=user_id, book_id__in=chunk.books)
    plan = _Plan(user_id, {entry.book_id: entry for entry in found})
    plan.add_rows(chunk, today)


def undo_entries(user_id: int, rows: Sequence[ImportRow]) -> None:
    """Remove earlier readings and progress, empty the fields that rows filled, and remove the entries that they made.

    Later changes of the reader stay, and so does an entry whose book was read again or has progress.
    """
    EarlierReading.objects.filter(pk__in=collect_changes(rows, "readings")).delete()
    ReadingProgress.objects.filter(user_id=user_id, pk__in=collect_changes(rows, "progress")).delete()
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
        if _is_as_made(entry, row.changes.get("made", {})) and entry.book_id not in kept:
            removed.add(entry.pk)
    _save(emptied.values())
    ShelfEntry.objects.filter(pk__in=removed).delete()


class _Plan:
    """The changes of a reader's entries and readings by rows. Each row sees what those before it change.

    Nothing is written before ``write``, so that pages can show what an import would change.
    """

    def __init__(self, user_id: int, entries: dict[int, ShelfEntry]) -> None:
        self.user_id = user_id
        self.entries = entries
        self.made: list[ShelfEntry] = []
        self.filled: dict[int, ShelfEntry] = {}
        self.readings: list[EarlierReading] = []
        self.makers: list[ImportRow] = []
        self.told: list[ImportedReading] = []
        self.known: dict[int, list[EarlierReading]] = {}
        self.progress: dict[int, list[ReadingProgress]] = {}
        self.noters: dict[int, ImportRow] = {}

    def add_rows(self, chunk: Chunk, today: date) -> None:
        """Plan the changes of rows, and note them in the rows."""
        for reading in EarlierReading.objects.filter(user_id=self.user_id, book_id__in=chunk.books):
            self.known.setdefault(reading.book_id, []).append(reading)
        for one in ReadingProgress.objects.filter(user_id=self.user_id, book_id__in=chunk.books, reading=None):
            self.progress.setdefault(one.book_id, []).append(one)
        for row, told in chunk.pairs():
            self._plan_entry(row, told, today)
            self._plan_progress(row, told)
            self._plan_readings(row, told)
            self._note_left_out(row, told)

    def write(self) -> None:
        """Write all changes, and note the ids of the readings."""
        ShelfEntry.objects.bulk_create(self.made)
        _save(self.filled.values())
        EarlierReading.objects.bulk_create(self.readings)
        for row in self.makers:
            row.changes["readings"] = []
        for reading, row in zip(self.readings, self.makers, strict=True):
            row.changes["readings"].append(reading.pk)
        notes: list[ReadingProgress] = []
        for reading, told in zip(self.readings, self.told, strict=True):
            notes += _make_progress(reading, told.progress, reading)
        for book in self.noters:
            notes += self.progress[book]
        ReadingProgress.objects.bulk_create(notes)
        for book, row in self.noters.items():
            row.changes["progress"] = [one.pk for one in self.progress[book]]

    def _plan_entry(self, row: ImportRow, told: ImportedBook, today: date) -> None:
        book = get_book_id(row)
        entry = self.entries.get(book)
        if entry is None and told.shelf:
            self.entries[book] = entry = _make_entry(self.user_id, book, told, today)
            self.made.append(entry)
            row.changes["made"] = _describe(entry)
            return
        fields = _fill_entry(entry, told, self.known.get(book, ())) if entry else {}
        if entry and fields:
            row.changes["filled"] = fields
            # A second row of a book that is new fills the entry before it is saved.
            if entry.pk:
                self.filled[entry.pk] = entry

    def _plan_readings(self, row: ImportRow, told: ImportedBook) -> None:
        """Add the ended readings that are neither the entry's nor known, then as many undated ones as were counted."""
        book = get_book_id(row)
        entry = self.entries.get(book)
        # Without an entry no page shows readings.
        if entry is None:
            return
        ends = {entry.finished_on, *(reading.finished_on for reading in self.known.get(book, ()))}
        for one in told.readings:
            # A file tells no more of most readings than their ends.
            if one.end and one.end.day not in ends:
                ends.add(one.end.day)
                self._add_reading(row, one)
        for _ in range(told.times_read - self._count_readings(entry)):
            self._add_reading(row, ImportedReading(None, None))

    def _plan_progress(self, row: ImportRow, told: ImportedBook) -> None:
        """Add the progress of the present or latest reading if the entry has the same reading, and no progress."""
        book = get_book_id(row)
        entry = self.entries.get(book)
        notes = told.details.progress.get(OF_SHELF_DATES, ())
        if entry is None or not notes or self.progress.get(book) or entry.shelf != told.shelf:
            return
        latest = _find_latest(told)
        if entry.started_on == (latest.start.day if latest and latest.start else None):
            self.progress[book] = _make_progress(entry, notes)
            self.noters[book] = row
            row.changes["progress"] = [0] * len(notes)

    def _note_left_out(self, row: ImportRow, told: ImportedBook) -> None:
        """Note a shelf, stars and dates that differ from those of the entry and its readings."""
        book = get_book_id(row)
        entry = self.entries.get(book)
        if entry is None:
            return
        if told.shelf and told.shelf != entry.shelf:
            note_left_out(row, "shelf")
        if told.stars is not None and told.stars != entry.stars:
            note_left_out(row, "stars")
        starts = {entry.finished_on: entry.started_on}
        for reading in self.known.get(book, ()):
            starts.setdefault(reading.finished_on, reading.started_on)
        for one in told.readings:
            end = one.end.day if one.end else None
            is_there = end in starts and (one.start is None or one.start.day == starts[end])
            if not is_there:
                note_left_out(row, "dates")

    def _count_readings(self, entry: ShelfEntry) -> int:
        """Return the number of readings as the exports of services count them."""
        count = int(entry.shelf != Shelf.WANT)
        for reading in self.known.get(entry.book_id, ()):
            count += reading.is_finished
        return count

    def _add_reading(self, row: ImportRow, one: ImportedReading) -> None:
        known = self.known.setdefault(get_book_id(row), [])
        if len(known) >= MAX_READINGS:
            return
        reading = EarlierReading(user_id=self.user_id, book_id=get_book_id(row), is_finished=one.is_finished)
        _set_dates(reading, one)
        known.append(reading)
        self.readings.append(reading)
        self.makers.append(row)
        self.told.append(one)
        row.changes.setdefault("readings", []).append(0)


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
    entry.pages = told.details.pages
    latest = _find_latest(told)
    if latest is not None:
        _set_dates(entry, latest)
    return entry


def _fill_entry(entry: ShelfEntry, told: ImportedBook, known: Sequence[EarlierReading]) -> dict[str, Any]:
    """Fill the empty fields of an entry. Return the new values by field."""
    before = _describe(entry)
    if entry.stars is None:
        entry.stars = told.stars
    if entry.pages is None:
        entry.pages = told.details.pages
    if _tells_more(entry, told, known):
        entry.shelf = told.shelf
    latest = _find_latest(told)
    # One date beside another one of a different reading would make a wrong reading.
    is_undated = entry.started_on is None and entry.finished_on is None
    if latest is not None and is_undated and entry.shelf == told.shelf and not _is_known(latest, known):
        _set_dates(entry, latest)
    after = _describe(entry)
    return {name: after[name] for name in FIELDS if after[name] != before[name]}


def _tells_more(entry: ShelfEntry, told: ImportedBook, known: Sequence[EarlierReading]) -> bool:
    """Return whether a book that the reader wants to read has been begun or read since."""
    if entry.shelf != Shelf.WANT or told.shelf in ("", Shelf.WANT):
        return False
    latest = _find_latest(told)
    # A reader who has moved a book back, to read it again, keeps it there.
    return not known if latest is None or latest.end is None else not _is_known(latest, known)


def _make_progress(
    of: ShelfEntry | EarlierReading, notes: Iterable[ImportedProgress], reading: EarlierReading | None = None
) -> list[ReadingProgress]:
    owner = {"user_id": of.user_id, "book_id": of.book_id, "reading": reading}
    return [ReadingProgress(**owner, **one._asdict()) for one in notes]


def _is_known(one: ImportedReading, known: Sequence[EarlierReading]) -> bool:
    return one.end is not None and any(reading.finished_on == one.end.day for reading in known)


def _empty_fields(entry: ShelfEntry, filled: dict[str, Any]) -> bool:
    """Empty the fields that still have these values. Return whether there is one."""
    present = _describe(entry)
    unchanged = [name for name, value in filled.items() if present[name] == value]
    # A reader who has changed a date or the stars since has read the book.
    if len(unchanged) < len(filled) and "shelf" in unchanged:
        unchanged.remove("shelf")
    for name in unchanged:
        setattr(entry, name, EMPTY[name])
    return bool(unchanged)


def _is_as_made(entry: ShelfEntry, made: dict[str, Any]) -> bool:
    """Return whether an entry still has the fields with which a row made it."""
    present = _describe(entry)
    # Older imports did not note all of the fields.
    return bool(made) and present | made == present


def _describe(entry: ShelfEntry) -> dict[str, Any]:
    """Return the fields of an entry as JSON."""
    fields: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(entry, name)
        fields[name] = value.isoformat() if isinstance(value, date) else value
    return fields


# --- readings -------------------------------------------------------------------------------------


def _find_read_again(user_id: int, entries: dict[int, ShelfEntry]) -> set[int]:
    """Return the books among these entries that have earlier readings or progress. Such entries stay."""
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
    if told.shelf == Shelf.READING:
        latest = told.readings[0]
        # A book that is being read has no end; its dates are those of earlier readings.
        return None if latest.end else latest
    # A book that was read may have been given up before or after, and the other way round.
    is_finished = told.shelf == Shelf.READ
    return next((one for one in told.readings if one.is_finished == is_finished), None)


def _set_dates(target: ShelfEntry | EarlierReading, one: ImportedReading) -> None:
    if one.start:
        target.started_on = one.start.day
    if one.end:
        target.finished_on = one.end.day
        target.finished_precision = Precision.YEAR if one.end.is_year else Precision.DAY
