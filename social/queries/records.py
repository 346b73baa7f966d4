"""The record of a post, built from SQL alike for the mirror and for the fallback."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from django.utils.translation import gettext

from common.text import shorten_text
from mirror import Record
from mirror.conf import setting
from mirror.read import RawRecord
from social.content.spoilers import name_omissions
from social.models import Mention, Post
from social.queries.tallies import Tally


class PostRecord(RawRecord):
    """The record of a post: id, user (id, name, avatar), is_private, time, edited, kind, text, note, book (id, title,
    cover, design), reply_to, mentions.

    tally: set by ``read_posts``. parent: the post that a reply answers, set by pages if the viewer may see it.
    """

    __slots__ = ("parent", "tally")

    def __init__(self, raw: bytes) -> None:
        super().__init__(raw)
        self.tally = Tally()
        self.parent: PostRecord | None = None

    @property
    def page_title(self) -> str:
        """Return the title of the post's page."""
        words = {"name": self["user"]["name"], "title": self["book"]["title"] if self["book"] else ""}
        if self["book"] and self["kind"] == Post.Kind.REVIEW:
            return gettext("Review of “%(title)s” by %(name)s") % words
        if self["book"] and self["kind"] == Post.Kind.RATING:
            return gettext("Rating of “%(title)s” by %(name)s") % words
        return gettext("Post by %(name)s") % words

    @property
    def json(self) -> Record:
        """Return the post as pages in JSON show it."""
        return self.fields | self.tally.json


class PostRow(NamedTuple):
    """The values of a post in SQL."""

    id: int
    kind: str
    text: str
    note: str
    created_at: datetime
    edited_at: datetime | None
    user_id: int
    user_name: str
    user_avatar: str
    is_private: bool
    book_id: int | None
    book_title: str | None
    book_cover: str | None
    book_design: str | None
    parent_id: int | None
    parent_author_id: int | None
    ancestors: str
    is_quiet: bool
    mentions: Sequence[str]


POST_COLUMNS = (
    "pk", "kind", "text", "note", "created_at", "edited_at",
    "user_id", "user__username", "user__avatar", "user__is_private",
    "book_id", "book__title", "book__cover", "book__design", "parent_id", "parent_author_id", "ancestors", "is_quiet",
)  # fmt: skip


def load_posts(ids: Sequence[int]) -> Mapping[str, PostRow]:
    """Return the visible posts among ``ids``, by id as a string. Takes two queries."""
    database = setting("DATABASE")
    rows = list(Post.objects.using(database).shown().filter(pk__in=ids).values_list(*POST_COLUMNS))
    mentions: dict[int, list[str]] = {}
    found = Mention.objects.using(database).filter(post_id__in=ids).order_by("pk")
    for post, name in found.values_list("post_id", "name"):
        mentions.setdefault(post, []).append(name)
    return {str(pk): PostRow._make((pk, *columns, mentions.get(pk, ()))) for pk, *columns in rows}


def find_replied_author(post: PostRecord) -> int | None:
    """Return the author of the post that a reply to somebody else replies to, 0 if unknown; None for other posts."""
    reply = post["reply_to"]
    return None if reply is None or reply["user"] == post["user"]["id"] else reply["user"] or 0


def quote_post(post: PostRecord, characters: int) -> str:
    """Return the beginning of a post as other pages quote it: of its content note, if it has one."""
    # A veiled text is not shown there either. A rating has no text.
    text = shorten_text(post["note"] or post["text"] or post.page_title, characters)
    return name_omissions(text) if post["kind"] == Post.Kind.REVIEW and not post["note"] else text


def build_record(row: PostRow) -> Record:
    """Return the record of ``post:<id>``.

    ``time`` and ``edited`` are ISO 8601, UTC; ``mentions`` has names as spelled in the text.
    ``is_private``: whether only approved followers of the author may see it.
    ``reply_to`` has the parent's id, its author's id (None after the deletion of the account), and the ids of the
    posts above, the parent last.
    """
    reply_to = None
    if row.parent_id is not None:
        above = list(map(int, row.ancestors.split()))
        reply_to = {"id": row.parent_id, "user": row.parent_author_id, "above": above}
    book = None
    if row.book_id is not None:
        book = {
            "id": row.book_id,
            "title": row.book_title,
            "cover": row.book_cover,
            "design": row.book_design,
        }
    record: Record = {
        "id": row.id,
        "user": {"id": row.user_id, "name": row.user_name, "avatar": row.user_avatar},
        "is_private": row.is_private,
        "time": _write_time(row.created_at),
        "edited": row.edited_at and _write_time(row.edited_at),
        "kind": row.kind,
        "text": row.text,
        "note": row.note,
        "book": book,
        "reply_to": reply_to,
        "mentions": list(row.mentions),
    }
    # Only here, so that the records of all other posts stay as they are.
    if row.is_quiet:
        record["is_quiet"] = True
    return record


def _write_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
