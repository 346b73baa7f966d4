"""Read a row of a file: the same values for every service."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Final, NamedTuple

from catalog.library.formats.services import ABANDONED, ABANDONED_NAMES, NO_LISTS, READ, WANT, Service
from catalog.library.formats.values import (
    ImportedDate,
    convert_review,
    parse_date,
    parse_isbn_cell,
    parse_ranges,
    parse_stars,
)
from catalog.shelves.forms import get_last_date

MAX_LISTS: Final = 20  # of one book
MAX_READINGS: Final = 50  # of one book
TRUE_WORDS: Final = frozenset({"true", "yes", "1", "x"})
_AUTHOR_SPLIT: Final = re.compile(r"[;|]|,(?!\s*(?:Jr|Sr|III?)\b)")


class ImportedReading(NamedTuple):
    """When a reading began and ended, as far as the file tells."""

    start: ImportedDate | None
    end: ImportedDate | None


class ImportedBook(NamedTuple):
    """What a row tells. shelf: "" if the row has none. readings: the last one first. stars: in halves."""

    title: str
    authors: tuple[str, ...]
    isbns: tuple[str, ...]
    goodreads_id: int | None
    shelf: str
    stars: int | None
    is_rounded: bool
    added_on: date | None
    readings: tuple[ImportedReading, ...]
    review: str
    lists: tuple[str, ...]


def read_row(service: Service, row: Mapping[str, str]) -> ImportedBook:
    """Return what a row tells. Values that cannot be read are left out."""

    def cell(column: str) -> str:
        return row.get(column, "") if column else ""

    tags = [name for column in service.tags for name in _split_names(cell(column))]
    shelf, lists = _find_shelf(service, _split_names(cell(service.shelf)), tags)
    readings = _find_readings(parse_ranges(cell(service.readings)), cell(service.started), cell(service.finished))
    stars, is_rounded = parse_stars(cell(service.stars))
    added = _limit(parse_date(cell(service.added)))
    isbns = dict.fromkeys(isbn for column in service.ids for isbn in parse_isbn_cell(cell(column)))
    number = cell(service.goodreads_id)
    has_been_read = readings or stars or _parse_count(cell(service.times_read))
    return ImportedBook(
        title=cell(service.title),
        authors=tuple(_split_authors(service, row)),
        isbns=tuple(isbns),
        goodreads_id=int(number) if number.isascii() and number.isdecimal() and len(number) < 19 else None,
        shelf=shelf or (READ if has_been_read else WANT),
        stars=stars,
        is_rounded=is_rounded,
        added_on=added.day if added and not added.is_year else None,
        # A book that waits to be read again keeps the dates of its earlier readings.
        readings=tuple(readings[:MAX_READINGS]),
        review=convert_review(cell(service.review), is_spoiler=cell(service.spoiler).lower() in TRUE_WORDS),
        lists=tuple(dict.fromkeys(lists))[:MAX_LISTS],
    )


def _split_names(text: str) -> list[str]:
    return [name for name in (" ".join(part.split()) for part in text.split(",")) if name]


def _split_authors(service: Service, row: Mapping[str, str]) -> Iterable[str]:
    for column in service.authors:
        # LibraryThing writes "Lee, Harper"; its other columns and services separate authors by commas.
        text = row.get(column, "")
        if column == "Primary Author":
            last, comma, first = text.partition(",")
            text = f"{first} {last}" if comma else text
        yield from (name for name in (" ".join(part.split()) for part in _AUTHOR_SPLIT.split(text)) if name)


def _find_shelf(service: Service, exclusive: list[str], tags: list[str]) -> tuple[str, list[str]]:
    """Return the shelf, and the lists that the other names become."""
    shelf = ""
    lists = []
    for name in exclusive:
        key = name.lower()
        found = service.shelves.get(key) or (ABANDONED if key in ABANDONED_NAMES else "")
        shelf = shelf or found
        # Goodreads' readers make exclusive shelves of their own.
        if not found:
            lists.append(name)
    names = {*service.shelves, *ABANDONED_NAMES, *NO_LISTS}
    # A shelf for abandoned books need not be an exclusive one, and then the book is on "read" as well.
    if any(name.lower() in ABANDONED_NAMES for name in tags) and shelf in ("", READ):
        shelf = ABANDONED
    return shelf, [name for name in [*tags, *lists] if name.lower() not in names]


def _find_readings(
    ranges: list[tuple[ImportedDate | None, ImportedDate | None]], started: str, finished: str
) -> list[ImportedReading]:
    """Return the readings, the last one first."""
    found = [ImportedReading(_limit(start), _limit(end)) for start, end in ranges]
    if not found:
        found = [ImportedReading(_limit(parse_date(started)), _limit(parse_date(finished)))]
    known = {_put_in_order(one) for one in found if any(one)}
    return sorted(known, key=lambda one: (one.end or one.start or ImportedDate(date.min)).day, reverse=True)


def _put_in_order(one: ImportedReading) -> ImportedReading:
    """Return the reading without a start that is a year, or later than the end."""
    start, end = one
    if start is None or start.is_year or (end is not None and start.day > end.day):
        return ImportedReading(None, end)
    return one


def _limit(found: ImportedDate | None) -> ImportedDate | None:
    """Return the date, or None for one in the future, except for the present year."""
    if found is None or found.day.year > get_last_date().year:
        return None
    return found if found.is_year or found.day <= get_last_date() else None


def _parse_count(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0


