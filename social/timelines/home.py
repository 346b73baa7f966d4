"""The home timeline: the posts pushed to a reader's window, merged with the posts of pulled authors.

``HomeFeed.read_ids_from_redis`` reads the window ``uid:{<id>}:timeline``, which answers down to its floor.
``HomeFeed.read_ids_from_sql`` answers below it, and everything while the mirror or the window is cold, while Redis is
away, and for readers of very many pulled authors.
``Feed.read_page`` combines both. The same round trip reads the window, the ids of the pulled authors that the reader
follows, and the posts of the pulled authors known from the reader's last request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mirror import WindowMirror, registry
from mirror.read import read
from mirror.redis import RedisPipeline
from mirror.utils import Bounded
from mirror.windows import window
from social import keys
from social.mirrors.windows import ACTIVE_SECONDS
from social.queries.home import find_home_posts
from social.timelines.feeds import WindowFeed, parse_chunk, queue_posts_by
from social.timelines.pages import Chunk, PostRecord

MIRRORS: Final = ("timeline", "post", "follow", "shun")
RENEW_BELOW_SECONDS: Final = ACTIVE_SECONDS - 24 * 3600  # a window that expires sooner than this is renewed
MAX_BLOCKS_AND_MUTES: Final = 500  # blocks and mutes; above this limit, check only the authors on the page
MAX_PULLED_AUTHORS: Final = 500  # followed pulled authors; above this limit, SQL answers
MAX_CACHED_READERS: Final = 10_000  # readers

# The pulled authors of recent readers, as this process last read them. Readers without any take no space.
_pulled_authors: Final = Bounded[int, tuple[int, ...]](MAX_CACHED_READERS)


def _get_timeline_mirror() -> WindowMirror:
    found = registry.get("timeline")
    assert isinstance(found, WindowMirror)
    return found


@dataclass
class HomeFeed(WindowFeed):
    """The home timeline of ``viewer``. Its ids take 1 round trip, or 2 if the set of pulled authors has changed."""

    viewer: int
    _needs_renewal: bool = field(default=False, init=False)
    _blocked_and_muted: frozenset[int] | None = field(default=frozenset(), init=False)  # None: too many

    def read_ids_from_redis(self, below: int, limit: int) -> Chunk | None:
        mirror, owner = _get_timeline_mirror(), str(self.viewer)
        expected = _pulled_authors.get(self.viewer) or ()

        def ask(pipe: RedisPipeline) -> None:
            window.ask(pipe, mirror, owner, below, limit)
            pipe.srandmember(keys.shuns(self.viewer), MAX_BLOCKS_AND_MUTES + 1)
            pipe.srandmember(keys.pulls(self.viewer), MAX_PULLED_AUTHORS + 1)
            self._queue_posts(pipe, expected, below, limit)

        reading = read(MIRRORS, ask)
        if reading is None:
            return None
        found = window.answer(reading.replies[: window.ASKS])
        if found is None:
            window.warm_soon(mirror, owner)
            return None
        shunned, pulls, *posts = reading.replies[window.ASKS :]
        self._blocked_and_muted = frozenset(map(int, shunned)) if len(shunned) <= MAX_BLOCKS_AND_MUTES else None
        authors = tuple(sorted(map(int, pulls)))
        if len(authors) > MAX_PULLED_AUTHORS:
            _pulled_authors.forget(self.viewer)
            return None
        if authors != expected:
            if authors:
                _pulled_authors.put(self.viewer, authors)
            else:
                _pulled_authors.forget(self.viewer)
            again = read(MIRRORS, lambda pipe: self._queue_posts(pipe, authors, below, limit))
            if again is None:
                return None
            posts = again.replies
        self._needs_renewal = 0 <= found.life < RENEW_BELOW_SECONDS
        own = self.chunk_from_slice(found, limit)
        return own and _merge_chunks([own, *_parse_pulled_chunks(posts, limit)])

    def _queue_posts(self, pipe: RedisPipeline, authors: Sequence[int], below: int, limit: int) -> None:
        for author in authors:
            queue_posts_by(pipe, author, below, limit)
        if authors:
            pipe.smismember(keys.shuns(self.viewer), [*authors])

    def read_ids_from_sql(self, below: int, limit: int) -> list[int]:
        return find_home_posts(self.viewer, below, limit)

    def queue_more_commands(self, pipe: RedisPipeline) -> None:
        if self._needs_renewal:
            window.keep(pipe, _get_timeline_mirror(), str(self.viewer))

    def exclude_blocked_and_muted(self, posts: list[PostRecord]) -> list[PostRecord]:
        """Drop posts of blocked and muted authors.

        The window has none of them once it is up to date, but a new block reaches Redis before the window changes.
        """
        excluded = self._blocked_and_muted
        if excluded is None:
            return super().exclude_blocked_and_muted(posts)
        return [post for post in posts if post["user"]["id"] not in excluded] if excluded else posts


def _parse_pulled_chunks(replies: Sequence[Any], limit: int) -> list[Chunk]:
    """Return the pulled posts as one chunk per author, without blocked and muted authors."""
    if not replies:
        return []
    *posts, shunned = replies
    return [parse_chunk(ids, limit) for ids, is_shunned in zip(posts, shunned, strict=True) if not is_shunned]


def _merge_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Merge chunks down to the highest of their floors, with each id once."""
    if len(chunks) == 1:
        return chunks[0]
    floor = max(chunk.floor for chunk in chunks)
    ids = {pk for chunk in chunks for pk in chunk.ids if pk >= floor}
    return Chunk(sorted(ids, reverse=True), floor)
