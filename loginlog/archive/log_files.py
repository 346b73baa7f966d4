"""Log files of expired months: a compressed file for each month, with a line for each bitmap.

    # diptych login log 2, 2017-10
    loginLog_2017-10_client_1001<TAB>00000040

A line has the name of a bitmap and its bits in hexadecimal. Files of earlier releases ("login log 1") have a column
between them, and lines for days, which follow from the months. A file is written under a temporary name, synced, read
back and compared before it gets its final name. It is replaced only to remove a login or a user.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

from common.ids import MAX_ID
from loginlog.names import DAY_PREFIX, PREFIX, MonthName
from loginlog.storage import bitmaps

HEADER: Final = "# diptych login log "
VERSION, FORMER_VERSION = "2", "1"
PATTERN: Final = "*.log.gz"
PART_SUFFIX: Final = ".part"
MAX_TYPE_LENGTH: Final = 20  # characters, as in SQL


class BadFile(ValueError):
    """A file that is no login log or is damaged. The message has the file, the line and the reason."""


class Line(NamedTuple):
    """A line of a log file: the month of a user, and its bits."""

    name: MonthName
    bits: int

    def __str__(self) -> str:
        return f"{PREFIX}{self.name}\t{bitmaps.encode_month(self.bits).hex()}"


def write_file(folder: Path, month: date, lines: Iterable[Line]) -> Path | None:
    """Write a new file of a month. Return its path; None without lines.

    A killed process leaves the complete file or one that ends in ".part". Raises OSError, such as for a full disk, and
    BadFile if the file read back differs from the written one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part = _write_part(folder, month, lines)
    return _publish_file(part, folder, month) if part else None


def remove_user(path: Path, user_id: int) -> bool:
    """Replace a file by one without the months of a user. Return False if it has none.

    A killed process leaves the old file or the new one. Raises the errors of ``write_file`` and ``read_lines``.
    """
    return _replace_file(path, lambda line: None if line.name.user_id == user_id else line)


def remove_login(path: Path, user_id: int, day: date) -> bool:
    """Replace a file by one without a user's logins of a day, of every type. Return False if it has none.

    A killed process leaves the old file or the new one. Raises as ``remove_user`` does.
    """

    def remove(line: Line) -> Line | None:
        if line.name.user_id != user_id or line.name.month != day.replace(day=1):
            return line
        bits = line.bits & ~bitmaps.bit_of_day(day)
        return Line(line.name, bits) if bits else None

    return _replace_file(path, remove)


def _replace_file(path: Path, change: Callable[[Line], Line | None]) -> bool:
    """Replace a file by one with changed lines, without those that become None. Return False if none changes."""
    if all(change(line) == line for _, line in read_lines(path)):
        return False
    # The file is read a second time, because the lines of a large site need not fit into memory.
    month = date.fromisoformat(f"{path.name[:7]}-01")
    changed = (change(line) for _, line in read_lines(path))
    part = _write_part(path.parent, month, (line for line in changed if line is not None))
    if part is None:
        path.unlink()
    else:
        part.replace(path)
    _sync_folder(path.parent)
    return True


def _write_part(folder: Path, month: date, lines: Iterable[Line]) -> Path | None:
    part = folder / f"{month:%Y-%m}.{os.getpid()}{PART_SUFFIX}"
    written, number = hashlib.sha256(), 0
    with part.open("wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6) as file:
            for number, line in enumerate(_encode_lines(month, lines)):  # noqa: B007  (0: only the header)
                file.write(line)
                written.update(line)
        # Rows leave SQL after this, so the file must survive a failure of power.
        raw.flush()
        os.fsync(raw.fileno())
    if not number:
        part.unlink()
        return None
    _verify_file(part, written.digest())
    return part


def _encode_lines(month: date, lines: Iterable[Line]) -> Iterator[bytes]:
    yield f"{HEADER}{VERSION}, {month:%Y-%m}\n".encode()
    for line in lines:
        yield f"{line}\n".encode()


def _verify_file(part: Path, written: bytes) -> None:
    read = hashlib.sha256()
    with gzip.open(part, "rb") as file:
        while chunk := file.read(2**20):
            read.update(chunk)
    if read.digest() != written:
        raise BadFile(f"{part}: what was read back is not what was written")


def _publish_file(part: Path, folder: Path, month: date) -> Path:
    """Give a file its final name, the first free one. No file is ever overwritten."""
    number = 1
    while True:
        path = folder / (f"{month:%Y-%m}.log.gz" if number == 1 else f"{month:%Y-%m}.{number}.log.gz")
        try:
            # Not a rename, which would overwrite a file of this name.
            os.link(part, path)
        except FileExistsError:
            number += 1
        else:
            part.unlink()
            _sync_folder(folder)
            return path


def _sync_folder(folder: Path) -> None:
    # A synced file without its synced name would be lost.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_unfinished(folder: Path) -> None:
    """Remove unfinished files of killed processes."""
    for part in folder.glob(f"*{PART_SUFFIX}"):
        part.unlink(missing_ok=True)


def read_lines(path: Path) -> Iterator[tuple[int, Line]]:
    """Yield the lines of a file with their numbers. Raises BadFile with file and line; OSError if it is unreadable."""
    number, version = 0, ""
    try:
        with gzip.open(path, "rt", encoding="ascii", newline="\n") as file:
            for number, text in enumerate(file, start=1):
                if number == 1:
                    version = _parse_version(text)
                # Files of the former version have lines of days, which follow from the months.
                elif not (version == FORMER_VERSION and text.startswith(DAY_PREFIX)):
                    yield number, _parse_line(text, 2 if version == VERSION else 3)
        if not number:
            raise ValueError("the file is empty")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadFile(f"{path}, after line {number}: the file is damaged: {error}") from error
    # UnicodeDecodeError and BadName are ValueErrors as well.
    except ValueError as error:
        raise BadFile(f"{path}, line {number}: {error}") from error


def _parse_version(header: str) -> str:
    """Return the version of a file's format. Raises ValueError."""
    for version in (VERSION, FORMER_VERSION):
        if header.startswith(f"{HEADER}{version}, "):
            return version
    raise ValueError("this is not a login log")


def _parse_line(text: str, columns: int) -> Line:
    """Parse a line. Raises ValueError."""
    parts = text.removesuffix("\n").split("\t")
    if len(parts) != columns or not text.endswith("\n"):
        raise ValueError("expected a name and bits, separated by a tab")
    name, bits = parts[0], parts[-1]
    if not name.startswith(PREFIX):
        raise ValueError(f"{name!r} is not the name of a bitmap")
    raw = bytes.fromhex(bits)
    if len(raw) != bitmaps.MONTH_BYTES or bitmaps.encode_month(bitmaps.parse_month(raw)) != raw:
        raise ValueError(f"{bits!r} is not the bitmap of a month")
    month = MonthName.parse(name.removeprefix(PREFIX))
    if len(month.user_type) > MAX_TYPE_LENGTH or not 0 <= month.user_id <= MAX_ID:
        raise ValueError(f"{name!r} names no month of a user")
    return Line(month, bitmaps.parse_month(raw))
