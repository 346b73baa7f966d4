"""Read imports from SQL: few people read them, and only their own."""

from typing import Final, NamedTuple

from django.db.models import Count, Q

from catalog.books.records import BookRecord
from catalog.library.changes import CHANGES, Chunk, RowSummary, preview_chunk, summarize_row
from catalog.library.formats import ImportedBook
from catalog.library.models import ImportRow, LibraryImport, Step
from catalog.library.services import read_rows
from catalog.mirrors import BookMirror
from catalog.shelves.forms import get_today

PAGE_SIZE: Final = 20  # rows
MAX_EARLIER: Final = 200  # rows of the same books on earlier pages, of which a preview takes account


class Progress(NamedTuple):
    """An import, and the number of its rows by step. unchanged: applied rows that brought nothing new."""

    load: LibraryImport
    counts: dict[str, int]
    unchanged: int

    @property
    def done(self) -> int:
        """The number of rows that the present work has finished."""
        left = {"matching": ("pending",), "applying": ("found", "undone"), "undoing": ("applied",)}
        return self.load.total - sum(self.counts[step] for step in left.get(self.load.state, ()))

    @property
    def found(self) -> int:
        """The number of rows that an import would apply."""
        return self.counts[Step.FOUND] + self.counts[Step.UNDONE]

    @property
    def imported(self) -> int:
        """The number of rows that changed something."""
        return self.counts[Step.APPLIED] - self.unchanged


class ShownRow(NamedTuple):
    """A row with its content, its changes, its book, and the candidates for the reader to choose from.

    summary: None for a row whose book is not known.
    """

    row: ImportRow
    told: ImportedBook
    summary: RowSummary | None
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
    counts = dict.fromkeys((step.value for step in Step), 0)
    unchanged = 0
    empty = Count("pk", filter=Q(step=Step.APPLIED) & ~Q(changes__has_any_keys=CHANGES))
    rows = load.rows.values_list("step").annotate(number=Count("pk"), same=empty).order_by()
    for step, number, same in rows:
        counts[step] = number
        unchanged += same
    return Progress(load, counts, unchanged)


def find_rows(load: LibraryImport, step: str, after: int = 0) -> RowPage:
    """Return the rows of a step after the one with the number ``after`` (1 query and 1 round trip; 6 more
    queries for rows that an import would apply, to show what they would change).
    """
    found = list(load.rows.filter(step=step, number__gt=after).order_by("number")[: PAGE_SIZE + 1])
    rows = found[:PAGE_SIZE]
    ids = {pk for row in rows for pk in [row.book_id, *row.candidates] if pk}
    books = BookMirror.get_many(sorted(ids))
    chunk = Chunk(rows, read_rows(load, rows))
    if step in (Step.FOUND, Step.UNDONE):
        _preview(load, chunk)
    shown = []
    for row, told in chunk.pairs():
        candidates = [books[pk] for pk in row.candidates if pk in books]
        summary = summarize_row(row) if row.book_id else None
        shown.append(ShownRow(row, told, summary, books.get(row.book_id), candidates))
    return RowPage(shown, rows[-1].number if len(found) > PAGE_SIZE else None)


def _preview(load: LibraryImport, chunk: Chunk) -> None:
    """Note in each row what it would change, after the rows of the same books on earlier pages."""
    if not chunk.rows:
        return
    same = load.rows.filter(step__in=(Step.FOUND, Step.UNDONE), book__in=chunk.books, number__lt=chunk.rows[0].number)
    earlier = list(same.order_by("number")[:MAX_EARLIER])
    rows = earlier + list(chunk.rows)
    told = read_rows(load, earlier) + list(chunk.told)
    preview_chunk(load.user_id, Chunk(rows, told), get_today())
