"""The tags on the page of a book."""

from collections.abc import Hashable
from typing import NamedTuple

from django.conf import settings

from catalog.books.records import BookRecord
from catalog.tags.votes import find_own_tags


class ShownTag(NamedTuple):
    """A tag, the number of its readers (None: not shown), and whether the visitor gave it."""

    name: str
    readers: int | None
    is_own: bool


def list_tag_facts(book: BookRecord, reader: int | None) -> dict[str, Hashable]:
    """Return what a page shows of a book's tags: the most frequent tags, then the reader's own, and the rest.

    reader: the id of the logged-in reader, or None.
    """
    own = find_own_tags(reader, book["id"]) if reader else []
    shown = [ShownTag(tag["name"], tag["count"], tag["name"] in own) for tag in book["top_tags"]]
    top_names = {tag.name for tag in shown}
    shown += [ShownTag(name, None, True) for name in own if name not in top_names]
    left_out = top_names.union(own, book["hidden_tags"])
    rest = [name for name in book["tags"] if name not in left_out]
    return {
        "book_id": book["id"],
        "shown": tuple(shown),
        "rest": tuple(rest),
        "is_reader": reader is not None,
        "longest": settings.TAG_MAX_LENGTH,
    }
