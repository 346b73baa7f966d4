"""Read a row of a file: the same values for every service."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple

from catalog.library.formats.details import BookDetails, ImportedProgress, read_details
from catalog.library.formats.services import (
    ABANDONED,
    ABANDONED_NAMES,
    NO_LISTS,
    PAUSED_NAMES,
    READ,
    READING,
    WANT,
    Service,
)
from catalog.library.formats.values import (
    ImportedDate,
    convert_review,
    parse_date,
    parse_isbn_cell,
    parse_ranges,
    parse_stars,
)
from catalog.shelves.forms import get_last_date
from common.text import remove_invisible

MAX_LISTS: Final = 20  # of one book
MAX_READINGS: Final = 50  # of one book
TRUE_WORDS: Final = frozenset({"true", "yes", "1", "x"})
_AUTHOR_SPLIT: Final = re.compile(r"[;|]|,(?!\s*(?:Jr|Sr|III?)\b)")


class ImportedReading(NamedTuple):
    """When a reading began and ended, as far as the file tells, and whether the reader came to the end of the book."""

    start: ImportedDate | None
    end: ImportedDate | None
    is_finished: bool = True
    progress: tuple[ImportedProgress, ...] = ()


class ImportedBook(NamedTuple):
    """What a row tells. stars: in halves. readings: the last one first, as far as their dates are known.

    shelf: "" for a book that is on no shelf. times_read: the number of readings, with the present or latest one of a
    book that is on another shelf than "want to read"; 0 if the file does not tell. is_paused: the reader has laid down
    the book for a while.
    """

    title: str
    authors: tuple[str, ...]
    isbns: tuple[str, ...]
    goodreads_id: int | None
    shelf: str
    is_paused: bool
    stars: int | None
    is_rounded: bool
    added_on: date | None
    readings: tuple[ImportedReading, ...]
    times_read: int
    review: str
    lists: tuple[str, ...]
    details: BookDetails


class _Cells:
    """The cells of a row, by the columns of a service."""

    def __init__(self, service: Service, row: Mapping[str, str]) -> None:
        self.service = service
        self.row = row

    def get(self, column: str) -> str:
        """Return a cell; "" if the service has no such column."""
        return self.row.get(column, "") if column else ""

    def get_names(self, columns: Iterable[str]) -> list[str]:
        """Return the names in cells, which commas separate."""
        names: list[str] = []
        for column in columns:
            names += _split(self.get(column).split(","))
        return names


def read_row(service: Service, row: Mapping[str, str]) -> ImportedBook:
    """Return what a row tells. Values that cannot be read are left out."""
    cells = _Cells(service, row)
    details = read_details(cells.get(service.details))
    readings = tuple(_find_readings(cells, details))[:MAX_READINGS]
    times_read = min(_parse_number(cells.get(service.times_read)) or 0, MAX_READINGS)
    stars, is_rounded = parse_stars(cells.get(service.stars))
    shelf = _find_shelf(cells)
    if not shelf and (readings or stars or times_read):
        shelf = READ
    # Only the site's own export tells which readings did not come to the end. Elsewhere it is the last one.
    if shelf == ABANDONED and readings and not service.is_own:
        readings = (readings[0]._replace(is_finished=False), *readings[1:])
    added = _limit(parse_date(cells.get(service.added)))
    return ImportedBook(
        title=cells.get(service.title),
        authors=tuple(_list_authors(cells)),
        isbns=tuple(_list_isbns(cells)),
        goodreads_id=_parse_number(cells.get(service.goodreads_id)),
        shelf=shelf or _guess_shelf(cells),
        is_paused=shelf == READING and _is_paused(cells),
        stars=stars,
        is_rounded=is_rounded,
        added_on=added.day if added and not added.is_year else None,
        readings=readings,
        times_read=times_read,
        review=_read_review(cells),
        lists=tuple(_list_lists(cells))[:MAX_LISTS],
        details=details,
    )


def _read_review(cells: _Cells) -> str:
    text = cells.get(cells.service.review)
    if cells.service.is_own:
        return text
    is_spoiler = cells.get(cells.service.spoiler).lower() in TRUE_WORDS
    return convert_review(text, is_spoiler=is_spoiler)


def _split(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts that are not empty, with single blanks."""
    for part in parts:
        name = " ".join(part.split())
        if name:
            yield name


def _list_isbns(cells: _Cells) -> dict[str, None]:
    found: dict[str, None] = {}
    for column in cells.service.ids:
        found.update(dict.fromkeys(parse_isbn_cell(cells.get(column))))
    return found


def _list_authors(cells: _Cells) -> Iterator[str]:
    for column in cells.service.authors:
        text = cells.get(column)
        # LibraryThing writes "Lee, Harper"; its other columns and services separate authors by commas.
        if column == cells.service.inverted_author:
            last, _, first = text.partition(",")
            text = f"{first} {last}"
        yield from _split(_AUTHOR_SPLIT.split(text))


def _find_shelf(cells: _Cells) -> str:
    """Return the shelf; "" if the row has none that is known."""
    shelf = ""
    for name in cells.get_names([cells.service.shelf]):
        shelf = shelf or cells.service.shelves.get(name.lower(), "")
        if not shelf and name.lower() in PAUSED_NAMES:
            shelf = READING
        if name.lower() in ABANDONED_NAMES:
            return ABANDONED
    if cells.service.is_own:
        return shelf
    # A shelf for abandoned books need not be an exclusive one, and then the book is on "read" as well.
    tags = set(map(str.lower, cells.get_names(cells.service.tags)))
    return ABANDONED if shelf in ("", READ) and tags & ABANDONED_NAMES else shelf


def _guess_shelf(cells: _Cells) -> str:
    """Return the shelf of a book that nothing tells of having been read."""
    # The export of this site has books that are on lists or have a review, and are on no shelf.
    is_known = bool(cells.get_names(cells.service.tags) or cells.get(cells.service.review))
    return "" if is_known and not cells.get(cells.service.shelf) else WANT


def _is_paused(cells: _Cells) -> bool:
    names = map(str.lower, cells.get_names([cells.service.shelf]))
    return not PAUSED_NAMES.isdisjoint(names)


def _list_lists(cells: _Cells) -> dict[str, None]:
    """Return the names that are no shelf. Readers of Goodreads make exclusive shelves of their own."""
    found: dict[str, None] = {}
    if cells.service.is_own:
        return dict.fromkeys(cells.get_names(cells.service.tags))
    for written in cells.get_names([*cells.service.tags, cells.service.shelf]):
        # As the form of lists does.
        name = " ".join(remove_invisible(written).split())
        key = name.lower()
        if key and key not in ABANDONED_NAMES and key not in NO_LISTS and key not in cells.service.shelves:
            found[name] = None
    return found


def _find_readings(cells: _Cells, details: BookDetails) -> list[ImportedReading]:
    """Return the readings, the last one first."""
    service = cells.service
    ranges: Sequence[tuple[ImportedDate | None, ImportedDate | None]] = parse_ranges(cells.get(service.readings))
    if not ranges:
        ranges = [(parse_date(cells.get(service.started)), parse_date(cells.get(service.finished)))]
    found: set[ImportedReading] = set()
    for start, end in ranges:
        found.add(_make_reading(_limit(start), _limit(end))._replace(progress=details.progress.get((start, end), ())))
    for start, end in parse_ranges(cells.get(service.given_up)):
        one = _make_reading(_limit(start), _limit(end))
        found.add(one._replace(is_finished=False, progress=details.progress.get((start, end), ())))
    found -= {ImportedReading(None, None), ImportedReading(None, None, is_finished=False)}
    return sorted(found, key=_get_last_day, reverse=True)


def _get_last_day(one: ImportedReading) -> date:
    known = one.end or one.start
    return known.day if known else date.min


def _make_reading(start: ImportedDate | None, end: ImportedDate | None) -> ImportedReading:
    """Return the reading without a start that is a year, or later than the end."""
    if start is None or start.is_year:
        return ImportedReading(None, end)
    is_wrong = end is not None and start.day > end.day
    return ImportedReading(None if is_wrong else start, end)


def _limit(found: ImportedDate | None) -> ImportedDate | None:
    """Return the date, or None for one in the future, except for the present year."""
    last = get_last_date()
    if found is None or found.day.year > last.year:
        return None
    return found if found.is_year or found.day <= last else None


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
