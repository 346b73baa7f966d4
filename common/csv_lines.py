"""CSV for spreadsheets and programs."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

# Prefixes that spreadsheets interpret as the start of a formula.
FORMULA_PREFIXES: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def escape_formula(value: object) -> object:
    """Return a value that no spreadsheet executes: text that would start a formula gets a leading apostrophe."""
    if isinstance(value, str) and value.lstrip(" ").startswith(FORMULA_PREFIXES):
        return "'" + value
    return value


def write_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a CSV file, one for each row after the header."""
    made = io.StringIO()
    writer = csv.writer(made)
    writer.writerow(header)
    for row in rows:
        writer.writerow([escape_formula(value) for value in row])
        yield made.getvalue()
        made.seek(0)
        made.truncate()
    yield made.getvalue()
