"""What only the site's own export tells of a book: pages of the reader's edition, progress, and places on lists.

It is JSON in one cell of a row, because the cells of all services are texts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

import orjson

from catalog.library.formats.values import ImportedDate, parse_ranges
from catalog.lists.models import MAX_BOOKS
from catalog.readings.services import MAX_NOTES
from catalog.shelves.forms import get_last_date
from catalog.shelves.models import MAX_NOTE_LENGTH, MAX_PAGES
from common.text import remove_invisible

Dates = tuple[ImportedDate | None, ImportedDate | None]  # the start and end of a reading
OF_SHELF: Final = ""  # in place of the dates: the present or latest reading
OF_SHELF_DATES: Final[Dates] = (None, None)


class ImportedProgress(NamedTuple):
    """How far the reader had come on a day: a page or percents, and a note."""

    noted_on: date
    page: int | None
    percent: int | None
    note: str


class ListPlace(NamedTuple):
    """When a book was added to a list, and its number in the reader's own order, from 0."""

    added_on: date
    number: int


class BookDetails(NamedTuple):
    """The details of a book. pages: of the reader's own edition. progress: by the dates of a reading, as in the file,
    or ``OF_SHELF_DATES``; the first note first. places: by the names of lists.
    """

    pages: int | None
    progress: Mapping[Dates, tuple[ImportedProgress, ...]]
    places: Mapping[str, ListPlace]


NO_DETAILS: Final = BookDetails(None, {}, {})


def write_details(pages: Any, progress: Mapping[str, Sequence[Mapping[str, Any]]], places: Mapping[str, Any]) -> str:
    """Return the cell with these details of an export; "" for none.

    progress: as in the export, by the dates of a reading as in a column of ranges, or ``OF_SHELF``.
    """
    notes: dict[str, list[list[Any]]] = {}
    for dates, some in progress.items():
        notes[dates] = [[one[name] for name in ImportedProgress._fields] for one in some]
    details = {"pages": pages, "progress": notes, "places": places}
    return orjson.dumps(details).decode() if any(details.values()) else ""


def read_details(cell: str) -> BookDetails:
    """Return the details in a cell. Values that cannot be read, or that no form accepts, are left out."""
    if not cell:
        return NO_DETAILS
    try:
        found = orjson.loads(cell)
        progress: dict[Dates, tuple[ImportedProgress, ...]] = {}
        for dates, notes in found["progress"].items():
            for key in parse_ranges(dates) or [OF_SHELF_DATES]:
                progress[key] = tuple(_read_notes(notes))[:MAX_NOTES]
        return BookDetails(_read_number(found["pages"], 1, MAX_PAGES), progress, dict(_read_places(found["places"])))
    # The file may have been edited.
    except (ValueError, TypeError, LookupError, AttributeError):
        return NO_DETAILS


def _read_notes(notes: Iterable[Any]) -> Iterator[ImportedProgress]:
    for noted_on, page, percent, note in notes:
        day = _read_day(noted_on)
        position = (_read_number(page, 0, MAX_PAGES), _read_number(percent, 0, 100))
        if day and position.count(None) == 1:
            yield ImportedProgress(day, *position, remove_invisible(str(note)).strip()[:MAX_NOTE_LENGTH])


def _read_places(places: Mapping[str, Any]) -> Iterator[tuple[str, ListPlace]]:
    for name, (added_on, number) in places.items():
        if day := _read_day(added_on):
            yield name, ListPlace(day, min(max(0, int(number)), MAX_BOOKS))


def _read_day(value: Any) -> date | None:
    day = date.fromisoformat(value)
    return day if day <= get_last_date() else None


def _read_number(value: Any, least: int, most: int) -> int | None:
    return value if isinstance(value, int) and least <= value <= most else None
