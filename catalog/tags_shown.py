"""The tags of a book as its page shows them."""

from typing import Any, NamedTuple

from django.conf import settings

from catalog.results import BookRecord
from catalog.votes import own_tags


class ShownTag(NamedTuple):
    """A tag, how many readers gave it (None: not said), and whether the visitor is one of them."""

    name: str
    readers: int | None
    is_own: bool


def tags_shown(book: BookRecord, reader: int | None) -> dict[str, Any]:
    """Return what the template of a book's tags is given: the tags that most readers gave, then the reader's own, and
    the rest. reader: the id of who is logged in.
    """
    own = own_tags(reader, book["id"]) if reader else []
    top = [ShownTag(tag["name"], tag["count"], tag["name"] in own) for tag in book["top_tags"]]
    names = {tag.name for tag in top}
    shown = [*top, *(ShownTag(name, None, True) for name in own if name not in names)]
    left_out = names.union(own, book["hidden_tags"])
    rest = [name for name in book["tags"] if name not in left_out]
    return {"book": book, "shown": shown, "rest": rest, "reader": reader, "longest": settings.TAG_MAX_LENGTH}
