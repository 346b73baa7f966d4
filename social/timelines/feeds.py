"""Timelines in one sorted set: a window of the newest posts, or all posts of an author."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mirror import WindowMirror, registry
from mirror.read import read
from mirror.redis import RedisPipeline
from mirror.windows import window
from social import keys
from social.queries import timelines
from social.relations import blocks
from social.timelines.pages import Chunk, Feed, PostRecord


def queue_posts_by(pipe: RedisPipeline, author: int, below: int, limit: int) -> None:
    """Queue the command for an author's next ``limit`` posts below an id."""
    pipe.zrange(keys.posts_of(author), f"({below}", "-inf", desc=True, byscore=True, offset=0, num=limit)


def parse_chunk(reply: Sequence[bytes], limit: int) -> Chunk:
    """Return the reply to ``queue_posts_by`` as a chunk. A reply below ``limit`` ends the timeline."""
    ids = [int(pk) for pk in reply]
    return Chunk(ids, ids[-1] if len(ids) == limit else 0)


@dataclass
class WindowFeed(Feed):
    """A timeline with a window, which SQL continues unless the window is complete."""

    def chunk_from_slice(self, found: window.Slice, limit: int) -> Chunk | None:
        """Return a slice of a window as a chunk; None if it is empty and SQL has the rest."""
        ids = found.ids
        if len(ids) < limit and not found.whole:
            self.is_redis_exhausted = True
            return Chunk(ids, ids[-1]) if ids else None
        return Chunk(ids, ids[-1] if len(ids) == limit else 0)


@dataclass
class EagerFeed(WindowFeed):
    """The window of ``mirror`` for ``owner``. ``find_ids`` is the fallback: it takes an id and a limit."""

    mirror: str
    owner: str
    find_ids: Callable[[int, int], list[int]]

    def read_ids_from_redis(self, below: int, limit: int) -> Chunk | None:
        declared = registry.get(self.mirror)
        assert isinstance(declared, WindowMirror)
        reading = read([self.mirror], lambda pipe: window.ask(pipe, declared, self.owner, below, limit))
        found = reading and window.answer(reading.replies)
        return self.chunk_from_slice(found, limit) if found else None

    def read_ids_from_sql(self, below: int, limit: int) -> list[int]:
        return self.find_ids(below, limit)


@dataclass
class AuthorFeed(Feed):
    """The posts of ``author``, none if a block exists between author and viewer. A mute does not matter here."""

    author: int

    def read_ids_from_redis(self, below: int, limit: int) -> Chunk | None:
        def ask(pipe: RedisPipeline) -> None:
            queue_posts_by(pipe, self.author, below, limit)
            if self.viewer is not None:
                pipe.sismember(keys.shuns(self.viewer), str(self.author))

        reading = read(["post", "shun"], ask)
        if reading is None:
            return None
        posts, *shunned = reading.replies
        return Chunk([], 0) if any(shunned) and self._has_block() else parse_chunk(posts, limit)

    def read_ids_from_sql(self, below: int, limit: int) -> list[int]:
        return [] if self._has_block() else timelines.find_posts_by(self.author, below, limit)

    def _has_block(self) -> bool:
        return self.viewer is not None and blocks.has_block_between(self.viewer, self.author)

    def exclude_blocked_and_muted(self, posts: list[PostRecord]) -> list[PostRecord]:
        return posts
