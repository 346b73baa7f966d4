"""Timelines in one sorted set: a window of the newest posts, or all posts of an author."""

from dataclasses import dataclass

import mirror
from mirror import WindowMirror
from social import keys
from social.mirrors.edges import ShunMirror
from social.mirrors.posts import PostMirror
from social.queries.records import PostRecord
from social.relations import blocks
from social.timelines.pages import Chunk, Feed


@dataclass
class EagerFeed(Feed):
    """The posts in the window of ``owner``, and below it."""

    window: type[WindowMirror]
    owner: int | str

    def read_chunk(self, below: int, limit: int) -> Chunk:
        return Chunk.of(self.window.latest(self.owner, limit, below), limit)


@dataclass
class AuthorFeed(Feed):
    """The posts of ``author``, none if a block exists between author and viewer. A mute does not matter here."""

    author: int

    def read_chunk(self, below: int, limit: int) -> Chunk:
        with mirror.together() as reads:
            posts = reads(PostMirror.page, keys.posts_of(self.author), limit, high=below - 1, descending=True)
            is_blocked_or_muted = reads(self._is_blocked_or_muted)
        # The set does not distinguish mutes from blocks, and SQL counts as a block while it is away.
        if is_blocked_or_muted.value and self._has_block():
            return Chunk([], 0)
        return Chunk.of([post.pk for post in posts.value], limit)

    def _is_blocked_or_muted(self) -> bool:
        """Return whether a mute or a block exists; only SQL knows which."""
        if self.viewer is None:
            return False
        return bool(ShunMirror.filter_members(keys.shuns(self.viewer), [self.author]))

    def _has_block(self) -> bool:
        return self.viewer is not None and blocks.has_block_between(self.viewer, self.author)

    def exclude_blocked_and_muted(self, posts: list[PostRecord]) -> list[PostRecord]:
        return posts
