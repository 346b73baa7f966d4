"""Tables that staff edit in a spreadsheet: rows of a CSV file, and the changes that they ask for."""

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar

from django.db.models import Model
from django.utils.translation import gettext as _

from common.csv.lines import CsvReader, CsvRow, UnreadableRow, decode, find_delimiter
from common.ids import MAX_ID
from common.text import clean_parameter

KEY: Final = "id"
MAX_ROWS: Final = 2000
MAX_DIGITS: Final = 18  # of a number; Python refuses thousands of them

Row = TypeVar("Row", bound=Model)


class TableError(NamedTuple):
    """What is wrong in a file. line: its number in the file. column: "" for the whole line."""

    line: int
    column: str
    text: str


class TableRow(NamedTuple):
    """A row of a file. cells: as the file has them, by column."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True)
class RowEdit(Generic[Row]):
    """A change of a row of SQL, or a new row. changes: the old and the new value of each changed field."""

    row: Row
    changes: Mapping[str, tuple[Any, Any]]

    @property
    def is_new(self) -> bool:
        """Whether the row would be added."""
        return self.row.pk is None

    @classmethod
    def compare(cls, row: Row, values: Mapping[str, Any]) -> Self:
        """Return the change from a row to these values by field."""
        pairs = {field: (getattr(row, field), value) for field, value in values.items()}
        return cls(row, {field: pair for field, pair in pairs.items() if pair[0] != pair[1]})


class Table(NamedTuple, Generic[Row]):
    """The changes that a file asks for, and its errors. With an error none of the changes is made."""

    edits: list[RowEdit[Row]]
    errors: list[TableError]


def read_table_rows(
    content: bytes, columns: Sequence[str], errors: list[TableError]
) -> tuple[list[str], list[TableRow]]:
    """Return the known columns of a file, and its rows. ``errors`` gets what is wrong with them.

    columns: the known ones. The others are left out.
    """
    text = decode(content)
    lines = CsvReader(io.StringIO(text, newline=""), find_delimiter(text))
    try:
        header = [cell.strip() for cell in next(lines, CsvRow(1, [])).cells]
        rows = [row for row in lines if any(cell.strip() for cell in row.cells)]
    except UnreadableRow as error:
        errors.append(TableError(error.line, "", _("The quotes of this line are not in pairs.")))
        return [], []
    known = [name for name in header if name in columns]
    repeated = sorted(name for name, count in Counter(known).items() if count > 1)
    errors.extend(TableError(1, name, _("The column is listed twice.")) for name in repeated)
    if len(rows) > MAX_ROWS:
        text = _("The file has more than %(n)s rows. Split it.") % {"n": MAX_ROWS}
        errors.append(TableError(rows[MAX_ROWS].line, "", text))
    return known, [] if errors else list(_read_cells(header, rows, columns, errors))


def _read_cells(
    header: Sequence[str], rows: Sequence[CsvRow], columns: Sequence[str], errors: list[TableError]
) -> Iterator[TableRow]:
    for row in rows:
        if len(row.cells) != len(header):
            text = _("The line has %(cells)d cells instead of %(columns)d.")
            errors.append(TableError(row.line, "", text % {"cells": len(row.cells), "columns": len(header)}))
        # SQL cannot store it, and the cell would not say what it seems to say without it.
        elif any("\0" in cell for cell in row.cells):
            errors.append(TableError(row.line, "", _("The line has a NUL character, which no text has.")))
        else:
            cells = zip(header, row.cells, strict=True)
            yield TableRow(row.line, {name: cell for name, cell in cells if name in columns})


def parse_whole_number(cell: str, most: int = MAX_ID) -> int:
    """Return a whole number from 0 to ``most``. Raises ValueError with a message for staff."""
    # Spreadsheets of East Asia write full-width digits, which forms accept as well.
    cell = clean_parameter(KEY, cell)
    if cell.isascii() and cell.isdigit() and len(cell) <= MAX_DIGITS and int(cell) <= most:
        return int(cell)
    raise ValueError(_("“%(cell)s” is not a whole number from 0 to %(most)d.") % {"cell": cell[:40], "most": most})
