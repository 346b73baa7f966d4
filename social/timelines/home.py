"""The home timeline: the posts pushed to a reader's window, merged with the posts of pulled authors.

The window ``uid:{<id>}:timeline`` answers down to its floor. SQL answers below it, and everything while the mirror or
the window is cold, while Redis is away, and for readers of very many pulled authors. The same round trip reads the
window, the ids of the pulled authors that the reader follows, and the posts of the pulled authors known from the
reader's last request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import mirror
from mirror import WindowMirror, registry
from mirror.redis import RedisPipeline
from mirror.utils import Bounded
from mirror.windows import window
from social import keys
from social.mirrors.edges import FollowMirror
from social.mirrors.windows import ACTIVE_SECONDS
from social.queries.home import find_home_posts
from social.queries.records import PostRecord, find_replied_author
from social.relations.blocks import find_blocked_and_muted
from social.timelines.pages import Chunk, Feed, read_posts
from social.timelines.parents import Link, find_links, read_answered

MIRRORS: Final = ("timeline", "post", "follow", "shun")
RENEW_BELOW_SECONDS: Final = ACTIVE_SECONDS - 24 * 3600  # a window that expires sooner than this is renewed
MAX_BLOCKS_AND_MUTES: Final = 500  # blocks and mutes; above this limit, check only the authors on the page
MAX_ATTEMPTS: Final = 2  # reads; the second one asks for the pulled authors that the first one has found
MAX_PULLED_AUTHORS: Final = 500  # followed pulled authors; above this limit, SQL answers
MAX_CACHED_READERS: Final = 10_000  # readers
MAX_CACHED_REPLIES: Final = 50_000  # replies

# The pulled authors of recent readers, as this process last read them. Readers without any take no space.
_pulled_authors: Final = Bounded[int, tuple[int, ...]](MAX_CACHED_READERS)

# What replies answer, as this process has read it. It never changes, so the next page reads both in one round trip.
_links: Final = Bounded[int, Link](MAX_CACHED_REPLIES)


def _get_timeline_mirror() -> WindowMirror:
    return registry.get("timeline", WindowMirror)


def _remember_pulled_authors(viewer: int, authors: tuple[int, ...]) -> None:
    if authors and len(authors) <= MAX_PULLED_AUTHORS:
        _pulled_authors.put(viewer, authors)
    else:
        _pulled_authors.forget(viewer)


@dataclass
class HomeFeed(Feed):
    """The home timeline of ``viewer``. Its ids take 1 round trip, or 2 if the set of pulled authors has changed.

    After ``_is_redis_exhausted`` becomes true, only SQL is asked for further ids.
    """

    viewer: int
    _is_redis_exhausted: bool = field(default=False, init=False)
    _needs_renewal: bool = field(default=False, init=False)
    _blocked_and_muted: frozenset[int] | None = field(default=frozenset(), init=False)  # None: too many
    _pulled: frozenset[int] = field(default=frozenset(), init=False)  # the authors whose posts were pulled

    def read_chunk(self, below: int, limit: int) -> Chunk:
        found = None if self._is_redis_exhausted else self._read_from_redis(below, limit)
        ids, below = found or Chunk([], below)
        if len(ids) < limit and below:  # Redis has no more ids
            rest = find_home_posts(self.viewer, below, limit - len(ids))
            ids, below = [*ids, *rest], rest[-1] if len(ids) + len(rest) == limit else 0
        return Chunk(ids, below).cut(limit)

    def _read_from_redis(self, below: int, limit: int) -> Chunk | None:
        """Return the next ids below an id, at least ``limit`` if Redis has as many; None if SQL must answer."""
        for _ in range(MAX_ATTEMPTS):
            expected = _pulled_authors.get(self.viewer) or ()
            replies = self._ask(expected, below, limit)
            if replies is None:
                return None
            found = window.answer(replies[: window.ASKS])
            if found is None:
                window.warm_soon(_get_timeline_mirror(), str(self.viewer))
                return None
            blocked_and_muted, pulls, *posts = replies[window.ASKS :]
            # A set in Redis has no order, and a cached tuple must equal the next one.
            authors = tuple(sorted(map(int, pulls)))
            _remember_pulled_authors(self.viewer, authors)
            if len(authors) > MAX_PULLED_AUTHORS:
                return None
            # Otherwise the posts of other authors were read, and the whole read is repeated, so that window and posts
            # are of the same moment.
            if authors == expected:
                # Of a reader with more of them than this, the authors of the posts are asked for instead.
                if len(blocked_and_muted) <= MAX_BLOCKS_AND_MUTES:
                    self._blocked_and_muted = frozenset(map(int, blocked_and_muted))
                else:
                    self._blocked_and_muted = None
                self._pulled = frozenset(authors)
                self._needs_renewal = 0 <= found.life < RENEW_BELOW_SECONDS
                own = self._make_own_chunk(found, limit)
                return own and _merge_chunks([own, *_parse_pulled_chunks(posts, limit)])
        return None

    def _ask(self, authors: Sequence[int], below: int, limit: int) -> list[Any] | None:
        """Return the replies for the window and the posts of these pulled authors; None if SQL must answer."""

        def ask(pipe: RedisPipeline) -> None:
            window.ask(pipe, _get_timeline_mirror(), str(self.viewer), below, limit)
            pipe.srandmember(keys.shuns(self.viewer), MAX_BLOCKS_AND_MUTES + 1)
            pipe.srandmember(keys.pulls(self.viewer), MAX_PULLED_AUTHORS + 1)
            for author in authors:
                pipe.zrange(keys.posts_of(author), f"({below}", "-inf", desc=True, byscore=True, offset=0, num=limit)
            if authors:
                pipe.smismember(keys.shuns(self.viewer), [*authors])

        # No readers: one statement of SQL answers for all of this, and a merge needs the floor of the window.
        question = mirror.Question[list[Any] | None](MIRRORS, ask, list, lambda: None)
        return mirror.answer(question)

    def _make_own_chunk(self, found: window.Slice, limit: int) -> Chunk | None:
        """Return a slice of the window as a chunk; None if it is empty and SQL has the rest."""
        if len(found.ids) < limit and not found.whole:
            # Ids below the floor would lack pushed posts, so SQL goes on exactly there.
            self._is_redis_exhausted = True
            return Chunk(found.ids, found.ids[-1]) if found.ids else None
        return Chunk.of(found.ids, limit)

    def read_records(self, ids: Sequence[int]) -> list[PostRecord]:
        known = {link for pk in ids if (link := _links.get(pk)) is not None}
        with mirror.together() as reads:
            records = reads(read_posts, ids, self.viewer)
            answered = reads(read_answered, self.viewer, known)
            if self._needs_renewal:
                # No reader: this writes, in the round trip of the records.
                reads(mirror.answer, mirror.Question(["timeline"], self._queue_renewal, bool, lambda: False))
        self.parents.keep(answered.value)
        for pk, link in find_links(records.value).items():
            if _links.get(pk) != link:
                _links.put(pk, link)
        return records.value

    def _queue_renewal(self, pipe: RedisPipeline) -> None:
        window.keep(pipe, _get_timeline_mirror(), str(self.viewer))

    def exclude_blocked_and_muted(self, posts: list[PostRecord]) -> list[PostRecord]:
        """Drop posts of blocked and muted authors.

        The window has none of them once it is up to date, but a new block reaches Redis before the window changes.
        """
        excluded = self._blocked_and_muted
        if excluded is None:
            posts = super().exclude_blocked_and_muted(posts)
        elif excluded:
            posts = [post for post in posts if post["user"]["id"] not in excluded]
        return self._exclude_pulled_replies(posts)

    def _exclude_pulled_replies(self, posts: list[PostRecord]) -> list[PostRecord]:
        """Drop replies by pulled authors to readers whom the viewer does not follow. A window has none of them.

        Takes 1 round trip if there are replies to others.
        """
        pulled = {post["id"]: find_replied_author(post) for post in posts if post["user"]["id"] in self._pulled}
        others = {author for author in pulled.values() if author not in (None, self.viewer)}
        if not others:
            return posts
        with mirror.together() as reads:
            followed = reads(FollowMirror.filter_members, keys.following(self.viewer), others)
            blocked_and_muted = reads(find_blocked_and_muted, self.viewer, others)
        refused = others - (followed.value - blocked_and_muted.value)
        return [post for post in posts if pulled.get(post["id"]) not in refused]


def _parse_pulled_chunks(replies: Sequence[Any], limit: int) -> list[Chunk]:
    """Return the pulled posts as one chunk per author, without blocked and muted authors."""
    if not replies:
        return []
    *posts, blocked_and_muted = replies
    chunks: list[Chunk] = []
    for ids, is_blocked_or_muted in zip(posts, blocked_and_muted, strict=True):
        if not is_blocked_or_muted:
            chunks.append(Chunk.of(list(map(int, ids)), limit))
    return chunks


def _merge_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Merge chunks down to the highest of their floors, with each id once."""
    if len(chunks) == 1:
        return chunks[0]
    floor = max(chunk.floor for chunk in chunks)
    ids = {pk for chunk in chunks for pk in chunk.ids if pk >= floor}
    return Chunk(sorted(ids, reverse=True), floor)
