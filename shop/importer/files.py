"""to_read.csv and ratings.csv: pairs of a reader and a book. Either file may be missing."""

from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from catalog.importer import ImportReport, Table, clean
from catalog.shelves.models import STARS
from mirror.utils import ProgressCallback

COLUMNS: Final = ("user_id", "book_id")
VIEWS_FILE: Final = "to_read.csv"
PURCHASES_FILE: Final = "ratings.csv"
RATING_COLUMN: Final = "rating"  # a column of ratings.csv
ROWS_PER_PROGRESS_STEP: Final = 5000  # rows between two updates of the progress bar


class Pair(NamedTuple):
    """A reader and a book by their numbers in the files. stars: the rating in halves, 0 without a usable one."""

    user: int
    book: int
    stars: int = 0


class Pairs:
    """The usable pairs of a file, ordered by reader. Each takes 17 bytes."""

    def __init__(self) -> None:
        self._users, self._books, self._stars = array("q"), array("q"), array("b")

    def add(self, user: int, book: int, stars: int = 0) -> None:
        """Add one pair."""
        self._users.append(user)
        self._books.append(book)
        self._stars.append(stars)

    def __len__(self) -> int:
        return len(self._users)

    def users(self) -> set[int]:
        """Return the numbers of all readers."""
        return set(self._users)

    def __iter__(self) -> Iterator[Pair]:
        order = sorted(range(len(self)), key=lambda at: (self._users[at], self._books[at]))
        return (Pair(self._users[at], self._books[at], self._stars[at]) for at in order)


def open_table(folder: Path, name: str) -> Table | None:
    """Return the file, or None if it does not exist. Raises BadFile."""
    columns = (*COLUMNS, RATING_COLUMN) if name == PURCHASES_FILE else COLUMNS
    return Table(folder, name, columns) if (folder / name).exists() else None


def read_pairs(
    file: Table, kind: str, books: Mapping[int, int], tally: ImportReport, progress: ProgressCallback
) -> Pairs:
    """Return the pairs whose book is in ``books``. kind: the name of the pairs in reports, such as "views"."""
    found, seen = Pairs(), set[tuple[int, int]]()
    for count, (line, cells) in enumerate(file.rows(tally.dirt), 1):
        user, book = (clean.parse_number(cell) for cell in cells[:2])
        if not user or not book:
            tally.dirt.note(f"{kind} without usable numbers", file.name, line)
        elif book not in books:
            tally.dirt.note(f"{kind} of unknown books", file.name, line)
        elif (user, book) in seen:
            tally.dirt.note(f"{kind} listed twice", file.name, line)
        else:
            seen.add((user, book))
            found.add(user, book, _parse_stars(cells[2], file, line, tally) if len(cells) > 2 else 0)
        tally.read[kind] += 1
        if count % ROWS_PER_PROGRESS_STEP == 0:
            progress(kind, ROWS_PER_PROGRESS_STEP)
    progress(kind, tally.read[kind] % ROWS_PER_PROGRESS_STEP)
    return found


def _parse_stars(cell: str, file: Table, line: int, tally: ImportReport) -> int:
    """Return a rating in halves of a star, or 0 for an unusable one."""
    halves = 2 * (clean.parse_number(cell) or 0)
    if halves in STARS:
        return halves
    tally.dirt.note("ratings without usable stars", file.name, line)
    return 0
