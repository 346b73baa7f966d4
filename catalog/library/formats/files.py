"""Read an uploaded file as a table: find its encoding, its delimiter and the service that wrote it."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.utils.translation import gettext as _

from catalog.library.formats.own import read_export
from catalog.library.formats.services import SERVICES, Service
from catalog.library.formats.values import is_day_first, write_day_first
from catalog.values.isbns import find_isbns
from common.csv import CsvReader, CsvRow, UnreadableRow, decode, find_delimiter, unescape_formula

MAX_ROWS: Final = 20_000
MAX_CELL_LENGTH: Final = 100_000  # characters
MAX_NAME_LENGTH: Final = 500  # characters kept of cells other than reviews
# By their names in lower case, as some spreadsheets and scripts write them.
COLUMNS: Final = {name.lower(): name for service in SERVICES.values() for name in service.columns | service.marks}


class FileRefused(ValueError):
    """The file is no table that can be imported. The text says why."""


class Table(NamedTuple):
    """The known columns of a file's rows. details: what the site's own export tells of shelves and lists, or {}."""

    service: Service
    rows: list[dict[str, str]]
    details: Mapping[str, Any] = {}


def read_table(content: bytes) -> Table:
    """Return the rows of a file. Raises FileRefused."""
    # PostgreSQL stores no NUL.
    text = decode(content).replace("\0", "")
    if not text.strip():
        raise FileRefused(_("This file is empty. Choose another one."))
    if text.lstrip().startswith(("{", "[")):
        return _read_json(text)
    delimiter = find_delimiter(text)
    lines = _read_lines(text, delimiter)
    first = next(filter(_has_text, lines), None)
    header = [COLUMNS.get(name.strip().lower(), name) for name in first.cells] if first else []
    service = find_service(header)
    # Without a header: one ISBN a line, or several.
    rows = _read_isbns(text) if service is None else list(_read_rows(service, header, lines))
    if service is not None:
        _unify_dates(service, rows)
    if not rows and service is not None:
        raise FileRefused(_("This file is empty. Choose another one."))
    if not rows:
        raise FileRefused(_("Choose an export of Goodreads, The StoryGraph or LibraryThing, or a list of ISBNs."))
    return Table(service or SERVICES["isbns"], rows)


def _read_json(text: str) -> Table:
    """Return the books of the site's own export. Other JSON would pass for a list of ISBNs."""
    export = read_export(text)
    if export is None:
        raise FileRefused(_("This JSON file has no library. Choose one that “Export as JSON” made."))
    if not export.rows:
        raise FileRefused(_("This file is empty. Choose another one."))
    _check_count(len(export.rows))
    service = SERVICES["diptych"]
    for row in export.rows:
        # Cells are longer only if somebody has changed the file.
        for name, text in row.items():
            is_name = name == service.title or name in service.authors
            row[name] = text[: MAX_NAME_LENGTH if is_name else MAX_CELL_LENGTH]
    return Table(service, export.rows, export.details)


def find_service(header: Sequence[str]) -> Service | None:
    """Return the service with these columns."""
    return next((service for service in SERVICES.values() if service.marks <= set(header)), None)


def _read_lines(text: str, delimiter: str) -> Iterator[CsvRow]:
    # LibraryThing's tables have unpaired quotes in their cells, which would swallow the following lines.
    is_quoted = delimiter != "\t" or '\t"' in text.replace('\t""', "")
    try:
        for row in CsvReader(io.StringIO(text, newline=""), delimiter, is_quoted=is_quoted):
            # The csv module's own limit is one of the whole process.
            if any(len(cell) > MAX_CELL_LENGTH for cell in row.cells):
                raise _refuse_line(row.line)
            yield row
    except UnreadableRow as error:
        raise _refuse_line(error.line) from error


def _has_text(line: CsvRow) -> bool:
    """Return whether a line is neither empty nor "sep=;", with which a file tells Excel its delimiter."""
    text = "".join(line.cells).strip()
    return text not in ("", "sep=")


def _unify_dates(service: Service, rows: list[dict[str, str]]) -> None:
    """Write dates such as "31/12/2020" with points in all rows if one row has the day first.

    Spreadsheets write dates as their country does. Only the file as a whole tells what "01/02/2020" means.
    """
    cells = [(row, column) for row in rows for column in service.dates if column in row]
    if any(is_day_first(row[column]) for row, column in cells):
        for row, column in cells:
            row[column] = write_day_first(row[column])


def _refuse_line(line: int) -> FileRefused:
    why = _("Line %(n)s is damaged: its quotes are not in pairs, or a cell is too long. Nothing was imported.")
    return FileRefused(why % {"n": line})


def _read_rows(service: Service, header: Sequence[str], lines: Iterator[CsvRow]) -> Iterator[dict[str, str]]:
    count = 0
    for line in lines:
        # A quote in the wrong place may have swallowed the end of its line.
        if line.is_repaired and len(line.cells) < len(header):
            raise _refuse_line(line.line)
        row: dict[str, str] = {}
        # Trailing empty columns may be missing, and further ones may follow.
        for name, cell in zip(header, line.cells, strict=False):
            # An export of ours has apostrophes before what a spreadsheet would take for a formula.
            text = unescape_formula(cell).strip()
            if text and name in service.columns:
                row[name] = text if name == service.review else text[:MAX_NAME_LENGTH]
        if row:
            count += 1
            _check_count(count)
            yield row


def _check_count(count: int) -> None:
    if count > MAX_ROWS:
        raise FileRefused(_("The file has more than %(n)s rows. Split it.") % {"n": MAX_ROWS})


def _read_isbns(text: str) -> list[dict[str, str]]:
    """Return a row for each ISBN, and for each line without one, which the reader then finds among the missing books.

    A text without any ISBN is no list.
    """
    # Dictionaries with the value None are ordered sets.
    isbns: dict[str, None] = {}
    others: dict[str, None] = {}
    for line in text.splitlines():
        found = find_isbns(line)
        isbns.update(dict.fromkeys(found))
        if not found and line.strip():
            others[line.strip()[:MAX_NAME_LENGTH]] = None
    if not isbns:
        return []
    _check_count(len(isbns) + len(others))
    rows = [{"ISBN": isbn} for isbn in isbns]
    rows += [{"Title": line} for line in others]
    return rows
