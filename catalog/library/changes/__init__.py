"""Apply rows to a reader's shelves, readings, reviews and lists, and undo that.

What the reader already has is never overwritten: a row fills only empty fields, and moves only a book that the reader
wants to read, if it tells that the book was begun or read. Each row notes its changes, so an undo reverts only
these, and leaves later changes of the reader. All writes of a chunk belong to one transaction of the caller, and
are bulk writes, because 20,000 single ones would take minutes. They send no signal, so no follower's timeline shows
imported ratings.
"""

from collections.abc import Sequence
from datetime import date

from catalog.library.changes import entries, lists, privacy, texts
from catalog.library.changes.lists import delete_empty_lists
from catalog.library.changes.rows import CHANGES, Chunk, RowSummary, summarize_row
from catalog.library.models import ImportRow, LibraryImport

__all__ = [
    "CHANGES",
    "Chunk",
    "RowSummary",
    "apply_chunk",
    "delete_empty_lists",
    "preview_chunk",
    "summarize_row",
    "undo_chunk",
]


def apply_chunk(load: LibraryImport, chunk: Chunk, today: date) -> None:
    """Apply rows with a book, and note in each row what it changed. The rows and the import are not saved."""
    for row in chunk.rows:
        row.changes = {}
    privacy.apply_privacy(load)
    entries.apply_entries(load.user_id, chunk, today)
    texts.apply_reviews(load.user_id, chunk, today)
    lists.apply_lists(load, chunk, today)


def preview_chunk(user_id: int, chunk: Chunk, today: date) -> None:
    """Note in each row what ``apply_chunk`` would change, with 0 for the ids of new rows, and write nothing.

    Each row is compared with what the reader has now; lists and reviews that are refused for their number or length
    count as well.
    """
    for row in chunk.rows:
        row.changes = {}
    entries.preview_entries(user_id, chunk, today)
    texts.preview_reviews(user_id, chunk)
    lists.preview_lists(user_id, chunk)


def undo_chunk(load: LibraryImport, rows: Sequence[ImportRow]) -> None:
    """Undo the changes of rows, the last one first. The rows are not saved."""
    lists.undo_lists(rows)
    texts.undo_reviews(load.user_id, rows)
    entries.undo_entries(load.user_id, rows)
    for row in rows:
        row.changes = {}
