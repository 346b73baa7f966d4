"""CSV for spreadsheets and programs."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

# A spreadsheet starts a cell at the start of a field, and in many languages after each semicolon, also in quotes. Where
# it expects semicolons, a comma does not end a field, so its quotes do not hold the lines of a text together.
# Full-width signs start a formula in Japanese and Chinese.
_FORMULA: Final = re.compile(
    r"""(^|;)(?=["\s]*[=+\-@|%\t\r\n＝＋－＠｜％])|(?<=[\r\n])(?=["\s]*[=+\-@|%＝＋－＠｜％])"""
)


def escape_formula(value: object) -> object:
    """Return a value that no spreadsheet executes: an apostrophe precedes text that would start a formula."""
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


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
