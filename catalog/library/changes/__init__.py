"""Apply rows to a reader's shelves, readings, reviews and lists, and undo that.

What the reader already has is never overwritten: a row fills only empty fields. Each row notes what it changed, so an
undo changes only that, and leaves what the reader has changed since. All writes of a chunk belong to one transaction of
the caller, and are bulk writes, because 20,000 single ones would take minutes. They send no signal, so no follower's
timeline shows imported ratings.
"""

from collections.abc import Sequence
from datetime import date

from catalog.library.changes import entries, lists, texts
from catalog.library.changes.lists import delete_empty_lists
from catalog.library.changes.rows import Chunk
from catalog.library.models import ImportRow, LibraryImport

__all__ = ["Chunk", "apply_chunk", "delete_empty_lists", "undo_chunk"]


def apply_chunk(load: LibraryImport, chunk: Chunk, today: date) -> None:
    """Apply rows with a book, and note in each row what it changed. The rows and the import are not saved."""
    for row in chunk.rows:
        row.changes = {}
    entries.apply_entries(load.user_id, chunk, today)
    texts.apply_reviews(load.user_id, chunk, today)
    lists.apply_lists(load, chunk, today)


def undo_chunk(load: LibraryImport, rows: Sequence[ImportRow]) -> None:
    """Undo the changes of rows, the last one first. The rows are not saved."""
    lists.undo_lists(rows)
    texts.undo_reviews(load.user_id, rows)
    entries.undo_entries(load.user_id, rows)
    for row in rows:
        row.changes = {}
