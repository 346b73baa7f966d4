"""CSV for spreadsheets and programs."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

# A spreadsheet starts a cell at the start of a field, and in many languages after each semicolon, also in quotes. Where
# it expects semicolons, a comma does not end a field, so its quotes do not hold the lines of a text together.
# Full-width signs start a formula in Japanese and Chinese.
_FORMULA: Final = re.compile(r"""(^|;)(?=["\s]*[=+\-@|%\t\r\n＝＋－＠｜％])""")
# Each run is found once: a condition at each of its line ends would take quadratic time.
_BLANKS_BEFORE_SIGN: Final = re.compile(r"""(?<!["\s])["\s]+(?=[=+\-@|%＝＋－＠｜％])""")
_LINE_END: Final = re.compile(r"[\r\n]")
_ESCAPED: Final = re.compile(r"""(?:^|(?<=[;\r\n]))'(?=["\s]*[=+\-@|%\t\r\n＝＋－＠｜％])""")

_DELIMITERS: Final = (",", ";", "\t")
_BYTE_ORDER_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

_HIGH_BYTES: Final = re.compile(rb"[\x80-\xff]+")


class CsvRow(NamedTuple):
    """A row of a CSV file. line: the number of its first line. is_repaired: its quotes were in the wrong place."""

    line: int
    cells: list[str]
    is_repaired: bool = False


class UnreadableRow(ValueError):
    """A row with a quoted cell that never ends, or that is too long for the csv module. line: where the row begins."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


class CsvReader:
    """Iterate over the rows of a CSV file's lines. Raises UnreadableRow. is_quoted: False if quotes mean nothing.

    Python's reader takes all lines after an unpaired quote as one cell, unless it is strict. A row on one line with
    quotes in the wrong place is then read without the strict rules.
    """

    def __init__(self, lines: Iterable[str], delimiter: str = ",", is_quoted: bool = True) -> None:
        self._text = ""
        self._delimiter = delimiter
        quoting: Any = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
        self._rows = csv.reader(self._feed(lines), strict=True, delimiter=delimiter, quoting=quoting)

    def __iter__(self) -> Iterator[CsvRow]:
        return self

    def __next__(self) -> CsvRow:
        line = self._rows.line_num + 1
        try:
            return CsvRow(line, next(self._rows))
        except csv.Error as error:
            # The quote that is missing may be in any of the lines, so no repair of several would be sure.
            if "expected after" not in str(error) or self._rows.line_num > line:
                raise UnreadableRow(line, str(error)) from error
        return CsvRow(line, self._read_line_alone(line), is_repaired=True)

    def _feed(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._text = line
            yield line

    def _read_line_alone(self, line: int) -> list[str]:
        try:
            return next(csv.reader([self._text], delimiter=self._delimiter))
        except csv.Error as error:
            raise UnreadableRow(line, str(error)) from error


def decode(content: bytes) -> str:
    """Return the text of a file: UTF-8 or UTF-16 with a mark, UTF-16 without one, UTF-8, or what Excel writes.

    Excel writes Windows' Latin letters, or GB 18030 in China.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    # Every second byte of a header is zero in UTF-16.
    start = content[:200]
    if start.count(0) > len(start) // 4:
        return content.decode("utf-16-le" if start[1:2] == b"\0" else "utf-16-be", errors="replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        # Five bytes have no meaning in Latin letters.
        encoding = "gb18030" if _is_chinese(content) else "cp1252"
        return content.decode(encoding, errors="replace")


def _is_chinese(content: bytes) -> bool:
    """Return whether bytes above 127 come in pairs, as in GB 18030. Single ones are letters with accents."""
    runs = _HIGH_BYTES.findall(content)
    return sum(len(run) % 2 for run in runs) < len(runs) / 2


def find_delimiter(text: str) -> str:
    """Return the delimiter that is most frequent in the first line."""
    first = text.lstrip().partition("\n")[0]
    return max(_DELIMITERS, key=first.count)


def escape_formula(value: object) -> object:
    """Return a value that no spreadsheet executes: an apostrophe precedes text that would start a formula."""
    if not isinstance(value, str):
        return value
    lines = _BLANKS_BEFORE_SIGN.sub(lambda found: _LINE_END.sub(r"\g<0>'", found[0]), value)
    return _FORMULA.sub(r"\1'", lines)


def unescape_formula(text: str) -> str:
    """Return a text without the apostrophes of ``escape_formula``."""
    return _ESCAPED.sub("", text)


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
