"""The home timeline: the posts pushed to a reader's window, merged with the posts of pulled authors.

The window answers down to its floor; SQL answers below it. The same round trip reads the window, the ids of the pulled
authors that the reader follows, and the posts of the pulled authors known from the reader's last request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from mirror import registry, window
from mirror.declare import WindowMirror
from mirror.read import read
from social import feeds, keys
from social.mirrors.windows import ACTIVE_SECONDS
from social.reading import Chunk, PostRecord
from social.slices import WindowFeed, ask_posts_of, stretch

MIRRORS: Final = ("timeline", "post", "follow", "shun")
RENEWED_SECONDS: Final = ACTIVE_SECONDS - 24 * 3600  # a window that expires sooner than this is renewed
MOST_SHUNNED: Final = 500  # blocks and mutes; above this limit, check only the authors on the page
MOST_FETCHED: Final = 500  # followed pulled authors; above this limit, SQL answers
REMEMBERED: Final = 10_000  # readers


class _Fetched:
    """The pulled authors of recent readers, as this process last read them. Readers without any take no space."""

    def __init__(self) -> None:
        self._lock, self._authors = Lock(), dict[int, tuple[int, ...]]()

    def get(self, reader: int) -> tuple[int, ...]:
        return self._authors.get(reader, ())

    def put(self, reader: int, authors: tuple[int, ...]) -> None:
        with self._lock:
            self._authors.pop(reader, None)
            if authors:
                self._authors[reader] = authors
            if len(self._authors) > REMEMBERED:
                del self._authors[next(iter(self._authors))]


_fetched = _Fetched()


def _mirror() -> WindowMirror:
    found = registry.get("timeline")
    assert isinstance(found, WindowMirror)
    return found


@dataclass
class HomeFeed(WindowFeed):
    """The home timeline of ``viewer``. Its ids take 1 round trip, or 2 if the set of pulled authors has changed."""

    viewer: int
    _is_due: bool = field(default=False, init=False)
    _shunned: frozenset[int] | None = field(default=frozenset(), init=False)  # None: above MOST_SHUNNED

    def from_redis(self, below: int, limit: int) -> Chunk | None:
        mirror, owner, expected = _mirror(), str(self.viewer), _fetched.get(self.viewer)

        def ask(pipe: Any) -> None:
            window.ask(pipe, mirror, owner, below, limit)
            pipe.srandmember(keys.shuns(self.viewer), MOST_SHUNNED + 1)
            pipe.srandmember(keys.pulls(self.viewer), MOST_FETCHED + 1)
            self._ask_posts(pipe, expected, below, limit)

        reading = read(MIRRORS, ask)
        if reading is None:
            return None
        found = window.answer(reading.replies[: window.ASKS])
        if found is None:
            window.warm_soon(mirror, owner)
            return None
        shunned, pulls, *posts = reading.replies[window.ASKS :]
        self._shunned = frozenset(map(int, shunned)) if len(shunned) <= MOST_SHUNNED else None
        authors = tuple(sorted(map(int, pulls)))
        if authors != expected:
            _fetched.put(self.viewer, authors)
            again = read(MIRRORS, lambda pipe: self._ask_posts(pipe, authors, below, limit))
            if again is None or len(authors) > MOST_FETCHED:
                return None
            posts = again.replies
        self._is_due = 0 <= found.life < RENEWED_SECONDS
        own = self.of_window(found, limit)
        return own and _merged([own, *_stretches(posts, limit)])

    def _ask_posts(self, pipe: Any, authors: Sequence[int], below: int, limit: int) -> None:
        for author in authors:
            ask_posts_of(pipe, author, below, limit)
        if authors:
            pipe.smismember(keys.shuns(self.viewer), authors)

    def from_sql(self, below: int, limit: int) -> list[int]:
        return feeds.home(self.viewer, below, limit)

    def beside_records(self, pipe: Any) -> None:
        if self._is_due:
            window.keep(pipe, _mirror(), str(self.viewer))

    def unshunned(self, posts: list[PostRecord]) -> list[PostRecord]:
        """Drop posts of blocked and muted authors.

        The window has none of them once it is up to date, but a new block reaches Redis before the window changes.
        """
        if self._shunned is None:
            return super().unshunned(posts)
        return [post for post in posts if post["user"]["id"] not in self._shunned] if self._shunned else posts


def _stretches(replies: Sequence[Any], limit: int) -> list[Chunk]:
    """Return the pulled posts as one chunk per author, without blocked and muted authors."""
    if not replies:
        return []
    *posts, shunned = replies
    return [stretch(ids, limit) for ids, is_shunned in zip(posts, shunned, strict=True) if not is_shunned]


def _merged(chunks: Sequence[Chunk]) -> Chunk:
    """Merge chunks down to the highest of their floors, with each id once."""
    if len(chunks) == 1:
        return chunks[0]
    floor = max(chunk.floor for chunk in chunks)
    ids = {pk for chunk in chunks for pk in chunk.ids if pk >= floor}
    return Chunk(sorted(ids, reverse=True), floor)
