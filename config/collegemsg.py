"""Reads the CollegeMsg temporal network (SNAP): one line for each message, ``SRC DST UNIXTS``.

A message of SRC stands for a login of SRC at that time.
Source of the data: Panzarasa, Opsahl and Carley 2009, as published at snap.stanford.edu/data/CollegeMsg.html.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from catalog.importer.files import BadFile

COLUMNS = ("SRC", "DST", "UNIXTS")
LATEST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


class Message(NamedTuple):
    """One line: who wrote to whom, and when."""

    source: int
    target: int
    at: datetime


def name(person: int) -> str:
    """What a person of the file is called on the site."""
    return f"student {person}"


def messages(path: Path, limit: int | None = None) -> Iterator[Message]:
    """The lines, as they stand in the file; empty ones are nothing. Raises BadFile, which names line and column."""
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            found = 0
            for number, line in enumerate(file, 1):
                if found == limit:
                    return
                if parts := line.split():
                    found += 1
                    yield _message(parts, f"{path}, line {number}")
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror or error}") from None


def _message(parts: list[str], where: str) -> Message:
    if len(parts) != len(COLUMNS):
        raise BadFile(f"{where}: three columns are expected ({' '.join(COLUMNS)}), there are {len(parts)}")
    for column, part in zip(COLUMNS, parts, strict=True):
        if not (part.isascii() and part.isdigit() and 0 < int(part) < LATEST):
            raise BadFile(f"{where}, column {column}: {part[:40]!r} is not a positive whole number in range")
    source, target, at = map(int, parts)
    return Message(source, target, datetime.fromtimestamp(at, tz=UTC))
