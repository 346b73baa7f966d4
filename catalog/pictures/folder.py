"""Covers from a folder: each file is named after the id or the ISBN of its book."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from catalog.models import Book
from catalog.pictures.services import COVER, set_picture
from catalog.values.isbns import is_isbn, parse_isbn
from common.ids import parse_id
from common.pictures import MAX_BYTES, PictureTooLarge
from common.refusals import Refused

ENDINGS: Final = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif"})
FILES_PER_QUERY: Final = 500


class FoundBook(NamedTuple):
    """A book that a file names, with its present cover."""

    id: int
    cover: str


@dataclass
class CoverReport:
    """What an import did, or would do: numbers of files, and reasons by the names of refused files.

    surplus: files of books that have an earlier file.
    """

    stored: int = 0
    unchanged: int = 0
    unknown: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def list_pictures(folder: Path) -> list[Path]:
    """Return the files of a folder whose names end like those of pictures: those with ids of books, then by name."""
    found = (path for path in folder.iterdir() if path.suffix.lower() in ENDINGS and path.is_file())
    return sorted(found, key=lambda path: (is_isbn(path.stem), path.name))


def import_covers(files: Sequence[Path], report: CoverReport, *, is_dry_run: bool = False) -> Iterator[Path]:
    """Set the covers of books, and yield each file when the report counts it. Running it again changes nothing: the
    first valid file of a book counts.

    is_dry_run: only check the files.
    """
    done = set[int]()  # books with a file
    for start in range(0, len(files), FILES_PER_QUERY):
        some = files[start : start + FILES_PER_QUERY]
        books = _find_books([path.stem for path in some])
        for path in some:
            named = books.get(path.stem, ())
            left = [book for book in named if book.id not in done]
            if named and not left:
                report.surplus.append(path.name)
            elif _import_file(path, left, report, is_dry_run=is_dry_run):
                done.update(book.id for book in left)
            yield path


def _find_books(names: Sequence[str]) -> Mapping[str, Sequence[FoundBook]]:
    """Return the books of each name: an ISBN may belong to several."""
    isbns = {name: parse_isbn(name) for name in names if is_isbn(name)}
    ids = {name: parse_id(name) for name in names if name not in isbns}
    books = Book.objects.order_by("pk")
    by_isbn: dict[str, list[FoundBook]] = {}
    for isbn, pk, cover in books.filter(isbn__in=isbns.values()).values_list("isbn", "pk", "cover"):
        by_isbn.setdefault(isbn, []).append(FoundBook(pk, cover))
    rows = books.filter(pk__in=[pk for pk in ids.values() if pk])
    by_id = {pk: [FoundBook(pk, cover)] for pk, cover in rows.values_list("pk", "cover")}
    found: dict[str, Sequence[FoundBook]] = {name: by_isbn.get(isbn, ()) for name, isbn in isbns.items()}
    return found | {name: by_id.get(pk or 0, ()) for name, pk in ids.items()}


def _import_file(path: Path, books: Sequence[FoundBook], report: CoverReport, *, is_dry_run: bool) -> bool:
    """Set the covers of these books. Return whether they have this file's cover now."""
    if not books:
        report.unknown.append(path.name)
        return False
    try:
        if path.stat().st_size > MAX_BYTES:
            raise PictureTooLarge
        content = path.read_bytes()
        # Their files have the hash of this content in their names, so nothing needs to be decoded.
        changed = [book for book in books if book.cover != COVER.make_name(book.id, content)]
        if not changed:
            report.unchanged += 1
            return True
        picture = COVER.files.encode(content)
        if not is_dry_run:
            for book in changed:
                set_picture(COVER, book.id, picture)
        report.stored += 1
    except (Refused, OSError) as error:
        report.refused[path.name] = str(error)
        return False
    return True
