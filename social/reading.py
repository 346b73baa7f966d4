"""Posts as readers get them, and the page of a timeline.

A timeline is asked for in chunks of ids, and the records of the ids for what may be seen of them: ids without a record
(deleted, hidden, or of an inactive author) are passed over. So a page goes by the last id that was *scanned*, and stays
where it is while posts arrive.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mirror import registry
from mirror.raw import RawRecord
from mirror.read import read
from mirror.shapes import shape_of
from social import keys, shuns
from social.feeds import LARGEST_ID
from social.records import load_posts, record_of

PAGE = 20  # posts
# How many ids a page's first step scans beside its own: one to know whether there are more, and a few that may be gone.
BESIDE: Final = 4
FURTHER: Final = (100, 400, 400)  # and the next steps, where whole stretches are gone; then the page ends where it is


class PostRecord(RawRecord):
    """A post as its record says it: id, user (id, name), time, text, book (id, title), mentions."""

    __slots__ = ()


@dataclass(frozen=True)
class PostPage:
    """posts: newest first. after: where the next page goes on; None: nowhere. newest: the first one's id, or 0."""

    posts: list[PostRecord]
    after: int | None
    newest: int


class Chunk(NamedTuple):
    """A stretch of a timeline. ids: newest first. floor: below it others go on; 0: this is the end."""

    ids: Sequence[int]
    floor: int

    def first(self, limit: int) -> "Chunk":
        """No more than ``limit`` of the ids."""
        return Chunk(self.ids[:limit], self.ids[limit - 1]) if len(self.ids) > limit else self


@dataclass
class Feed:
    """One timeline, as ``viewer`` (None: a stranger) sees it: where its ids come from. ``ends`` up in SQL for good as
    soon as Redis has no more to say.
    """

    viewer: int | None
    ends: bool = field(default=False, init=False)

    def from_redis(self, below: int, limit: int) -> Chunk | None:
        """The next ids below an id: at least ``limit``, if there are as many; None: SQL has to say it."""
        raise NotImplementedError

    def from_sql(self, below: int, limit: int) -> list[int]:
        """The next ``limit`` ids below an id, newest first."""
        raise NotImplementedError

    def beside_records(self, pipe: Any) -> None:
        """More commands for the round trip of the records; nobody reads the replies."""

    def unshunned(self, posts: list[PostRecord]) -> list[PostRecord]:
        """Those that the viewer may see."""
        if self.viewer is None or not posts:
            return posts
        shunned = shuns.among(self.viewer, {post["user"]["id"] for post in posts})
        return [post for post in posts if post["user"]["id"] not in shunned]

    def chunk(self, below: int, limit: int) -> Chunk:
        """The next ``limit`` ids below an id, fewer at the end."""
        found = None if self.ends else self.from_redis(below, limit)
        ids, below = found or Chunk([], below)
        if len(ids) < limit and below:  # what Redis has ends here
            rest = self.from_sql(below, limit - len(ids))
            ids, below = [*ids, *rest], rest[-1] if len(ids) + len(rest) == limit else 0
        return Chunk(ids, below).first(limit)

    def page(self, after: int | None, size: int | None = None) -> PostPage:
        """The page of ``size`` posts (None: PAGE) below the id ``after``; None: the first one."""
        below, posts, size = after or LARGEST_ID, list[PostRecord](), size or PAGE
        for limit in (size + BESIDE, *FURTHER):
            ids, below = self.chunk(below, limit)
            posts += self.unshunned(_records(ids, self))
            if len(posts) > size or not below:
                break
        goes_on = posts[size - 1]["id"] if len(posts) > size else below or None
        return PostPage(posts[:size], goes_on, posts[0]["id"] if posts else 0)


def cursor(text: str | None) -> int | None:
    """The id that an address names; None for what is none: the first page."""
    if not text or not (text.isascii() and text.isdecimal()) or len(text) > len(str(LARGEST_ID)):
        return None
    return int(text) if 0 < int(text) <= LARGEST_ID else None


def records(ids: Sequence[int]) -> list[PostRecord]:
    """The records of those among ``ids`` that may be seen at all, in their order. 1 round trip, or 2 queries."""
    return _records(ids, None)


def _records(ids: Sequence[int], feed: Feed | None) -> list[PostRecord]:
    if not ids:
        return []

    def ask(pipe: Any) -> None:
        pipe.mget([keys.post(pk) for pk in ids])
        if feed:
            feed.beside_records(pipe)

    reading = read(["post"], ask)
    raws = _by_sql(ids) if reading is None else reading.replies[0]
    return [PostRecord(raw) for raw in raws if raw is not None]


def _by_sql(ids: Sequence[int]) -> Iterable[bytes | None]:
    """The same bytes as in Redis."""
    encode, rows = shape_of(registry.get("post")).encode, load_posts(ids)
    return [encode(record_of(rows[str(pk)])) if str(pk) in rows else None for pk in ids]
