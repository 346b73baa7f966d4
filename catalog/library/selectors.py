"""Read imports from SQL: few people read them, and only their own."""

from typing import Final, NamedTuple

from django.db.models import Count

from catalog.books.records import BookRecord
from catalog.library.formats import ImportedBook
from catalog.library.models import ImportRow, LibraryImport, Step
from catalog.library.services import read_rows
from catalog.mirrors import BookMirror

PAGE_SIZE: Final = 20  # rows


class Progress(NamedTuple):
    """An import, and the number of its rows by step."""

    load: LibraryImport
    counts: dict[str, int]

    @property
    def done(self) -> int:
        """The number of rows that the present work has finished."""
        left = {"matching": ("pending",), "applying": ("found", "undone"), "undoing": ("applied",)}
        return self.load.total - sum(self.counts[step] for step in left.get(self.load.state, ()))

    @property
    def found(self) -> int:
        """The number of rows that an import would apply."""
        return self.counts[Step.FOUND] + self.counts[Step.UNDONE]


class ShownRow(NamedTuple):
    """A row, what it tells, its book, and the candidates among which the reader chooses."""

    row: ImportRow
    told: ImportedBook
    book: BookRecord | None
    candidates: list[BookRecord]


class RowPage(NamedTuple):
    """A page of rows. after: the number of the last one, or None on the last page."""

    rows: list[ShownRow]
    after: int | None


def find_imports(user_id: int) -> list[LibraryImport]:
    """Return a reader's imports, newest first (1 query)."""
    return list(LibraryImport.objects.filter(user_id=user_id).order_by("-pk"))


def get_progress(user_id: int, pk: int) -> Progress | None:
    """Return a reader's import with the numbers of its rows, or None (2 queries)."""
    load = LibraryImport.objects.filter(user_id=user_id, pk=pk).first()
    if load is None:
        return None
    found = dict(load.rows.values_list("step").annotate(Count("pk")).order_by())
    return Progress(load, {step.value: found.get(step.value, 0) for step in Step})


def find_rows(load: LibraryImport, step: str, after: int = 0) -> RowPage:
    """Return the rows of a step after the one with the number ``after`` (1 query and 1 round trip)."""
    found = list(load.rows.filter(step=step, number__gt=after).order_by("number")[: PAGE_SIZE + 1])
    rows = found[:PAGE_SIZE]
    ids = {pk for row in rows for pk in [row.book_id, *row.candidates] if pk}
    books = BookMirror.get_many(sorted(ids))
    shown = []
    for row, told in zip(rows, read_rows(load, rows), strict=True):
        candidates = [books[pk] for pk in row.candidates if pk in books]
        shown.append(ShownRow(row, told, books.get(row.book_id), candidates))
    return RowPage(shown, rows[-1].number if len(found) > PAGE_SIZE else None)
