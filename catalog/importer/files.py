"""Stream CSV files. Bad rows are counted and skipped, and bad files are refused."""

import codecs
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, TypeVar

from common.csv import CsvReader, CsvRow, UnreadableRow

T = TypeVar("T")
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class BadFile(ValueError):
    """An unreadable file. The message names the file and the place."""


class DataProblems:
    """Problems in the data: the number of occurrences of each kind, and the place of the first one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def note(self, kind: str, file: str, line: int) -> None:
        """Count an occurrence of ``kind``."""
        self.counts[kind] += 1
        self.first.setdefault(kind, f"{file}:{line}")

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return count and first place by kind, most frequent first."""
        return {kind: {"count": n, "first": self.first[kind]} for kind, n in self.counts.most_common()}

    def __str__(self) -> str:
        return ", ".join(f"{kind} {n} (first: {self.first[kind]})" for kind, n in self.counts.most_common())


class Table:
    """A CSV file with a header. The constructor checks that the file is readable and has ``columns``.

    optional: columns that are read as well if the file has them.
    """

    def __init__(self, folder: Path, name: str, columns: Sequence[str], optional: Sequence[str] = ()) -> None:
        self.path, self.name, self.columns = folder / name, name, tuple(columns)
        self.optional = optional
        with self._open() as file:
            self._read_header(self._make_reader(file, DataProblems()))

    def lines(self) -> int:
        """Return the approximate number of rows, for a progress bar."""
        lines = 0
        with self.path.open("rb") as file:
            while chunk := file.read(1 << 20):
                lines += chunk.count(b"\n")
        return max(0, lines - 1)  # without the header

    def rows(self, dirt: DataProblems) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the stripped cells of ``columns`` of each good row.

        Rows with too few or too many cells are counted and skipped. Raises BadFile.
        """
        with self._open() as file:
            reader = self._make_reader(file, dirt)
            indices, width = self._read_header(reader)
            while row := self._next(reader, dirt):
                if len(row.cells) == width:
                    yield row.line, [row.cells[i].strip() for i in indices]
                # Empty lines are no rows, and do not count as bad ones.
                elif row.cells:
                    dirt.note("rows with too few or too many columns", self.name, row.line)

    def _open(self) -> TextIO:
        try:
            with self.path.open("rb") as file:
                encoding = "utf-16" if file.read(2) in UTF16_MARKS else "utf-8-sig"
            # Invalid UTF-8 passes through, and ``_decode_line`` decodes each such line.
            errors = "replace" if encoding == "utf-16" else "surrogateescape"
            return self.path.open(encoding=encoding, errors=errors, newline="")
        except OSError as error:
            raise BadFile(f"{self.path}: {error.strerror or error}") from None

    def _make_reader(self, file: TextIO, dirt: DataProblems) -> CsvReader:
        return CsvReader(self._lines(file, dirt))

    def _lines(self, file: TextIO, dirt: DataProblems) -> Iterator[str]:
        for number, text in enumerate(file, 1):
            line = text
            if not line.isascii():
                line = self._decode_line(line, number, dirt)
            if "\0" in line:
                dirt.note("NUL bytes", self.name, number)
                line = line.replace("\0", "")
            yield line

    def _decode_line(self, line: str, number: int, dirt: DataProblems) -> str:
        try:
            line.encode()
        except UnicodeEncodeError:
            dirt.note("lines that are not UTF-8, read as Windows-1252", self.name, number)
            return line.encode("utf-8", "surrogateescape").decode("cp1252", "replace")
        return line

    def _next(self, reader: CsvReader, dirt: DataProblems) -> CsvRow | None:
        try:
            row = next(reader, None)
        except UnreadableRow as error:
            text = f"{self.path}, line {error.line}: a quoted cell that begins here never ends ({error})"
            raise BadFile(text) from None
        if row is not None and row.is_repaired:
            dirt.note("quotes in the wrong place", self.name, row.line)
        return row

    def _read_header(self, reader: CsvReader) -> tuple[list[int], int]:
        """Return the indices of the columns, and the number of cells in a row."""
        row = self._next(reader, DataProblems())
        header = [cell.strip() for cell in row.cells] if row else []
        if not any(header):
            raise BadFile(f"{self.path}, line 1: there is no header")
        present = [column for column in self.optional if column in header and column not in self.columns]
        self.columns = (*self.columns, *present)
        for column in self.columns:
            if header.count(column) != 1:
                what = "is missing" if column not in header else "is there twice"
                raise BadFile(f'{self.path}, line 1: the column "{column}" {what}')
        return [header.index(column) for column in self.columns], len(header)


def split_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of up to ``size`` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
