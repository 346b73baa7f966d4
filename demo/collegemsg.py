"""Read the CollegeMsg temporal network (SNAP): one line for each message, ``SRC DST UNIXTS``.

A message of SRC stands for a login and a post of SRC at that time, and for DST following SRC. The file lacks the texts
of the messages: ``text`` invents them.
Source of the data: Panzarasa, Opsahl and Carley 2009, as published at snap.stanford.edu/data/CollegeMsg.html.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from catalog.importer import BadFile

COLUMNS = ("SRC", "DST", "UNIXTS")
MAX_TIMESTAMP = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


class Message(NamedTuple):
    """A line of the file: sender, receiver and time of a message. line: its number in the file, from 1."""

    source: int
    target: int
    at: datetime
    line: int


def build_user_name(person: int) -> str:
    """Return the user name of a person in the file."""
    return f"student {person}"


_OPENINGS: Final = (
    "Reading in the quad.", "Back from the library.", "Rain again, so:", "Third coffee.", "Between two lectures.",
    "Late train, good light.", "Note to self.", "Up early for once.", "Quiet floor tonight.", "Window seat, finally.",
    "Found on the swap shelf.", "Exams are over.", "Half past midnight.",
)  # fmt: skip
_MIDDLES: Final = (
    "The chapter about {} is the best so far", "I keep thinking about {}", "Somebody underlined every line about {}",
    "Does anyone have notes on {}", "I finally understand {}", "My roommate talks of nothing but {}",
    "There is a whole shelf on {}", "Tomorrow I start the one about {}", "I traded two novels for a book about {}",
    "Nobody told me how funny {} can be", "Our reading circle voted for {}",
)  # fmt: skip
_SUBJECTS: Final = (
    "lighthouses", "sourdough", "the history of maps", "moss", "night trains", "glaciers", "chess endings", "bees",
    "old typewriters", "tides", "paper folding", "the moons of Jupiter", "canal boats", "mushrooms", "public gardens",
    "lost alphabets", "bicycle repair",
)  # fmt: skip
_ENDINGS: Final = (".", ", and it is only Monday.", ". See you at the fountain.", ". Recommended.", ", more later.")


def invent_text(line: int) -> str:
    """Return the invented text for the message of a line: always the same, and repeated after 12,155 lines."""
    # A prime reaches all combinations, and makes consecutive lines differ much.
    number, picked = line * 7919, []
    for some in (_OPENINGS, _MIDDLES, _SUBJECTS, _ENDINGS):
        number, index = divmod(number, len(some))
        picked.append(some[index])
    opening, middle, subject, ending = picked
    return f"{opening} {middle.format(subject)}{ending}"


def read_messages(path: Path, limit: int | None = None) -> Iterator[Message]:
    """Yield the messages of the file in order, without empty lines. Raises BadFile, which names line and column."""
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            found = 0
            for number, line in enumerate(file, 1):
                if found == limit:
                    return
                if parts := line.split():
                    found += 1
                    yield _parse_message(parts, number, f"{path}, line {number}")
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror or error}") from None


def _parse_message(parts: list[str], line: int, where: str) -> Message:
    if len(parts) != len(COLUMNS):
        raise BadFile(f"{where}: three columns are expected ({' '.join(COLUMNS)}), there are {len(parts)}")
    for column, part in zip(COLUMNS, parts, strict=True):
        if not (part.isascii() and part.isdigit() and 0 < int(part) < MAX_TIMESTAMP):
            raise BadFile(f"{where}, column {column}: {part[:40]!r} is not a positive whole number in range")
    source, target, at = map(int, parts)
    return Message(source, target, datetime.fromtimestamp(at, tz=UTC), line)
