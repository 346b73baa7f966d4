"""Records of posts, and pages of timelines.

A page is built from chunks of ids and the records of these ids. Ids without a record (deleted, hidden, or of an
inactive author) are skipped. The cursor of a page is the last id that was *scanned*, so pages do not shift while new
posts arrive.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import mirror
from common.ids import MAX_ID, parse_id
from social.mirrors.posts import PostMirror
from social.models import Post
from social.queries.records import PostRecord
from social.queries.tallies import read_stars, read_tallies
from social.relations import blocks
from social.relations.approval import exclude_unapproved
from social.timelines.parents import Parents, find_links, read_answered

PAGE_SIZE = 20  # posts
# Ids that a page's first step scans beyond its size: one detects a next page, the others replace skipped ids.
EXTRA_IDS: Final = 4
FURTHER_IDS: Final = (100, 400, 400)  # ids that further steps scan while posts are missing; then the page ends


@dataclass(frozen=True)
class PostPage:
    """A page of posts, newest first.

    ``after`` is the cursor of the next page, None on the last page. ``newest`` is the id of the first post, or 0.
    """

    posts: list[PostRecord]
    after: int | None
    newest: int


class Chunk(NamedTuple):
    """A part of a timeline: ids, newest first. The timeline continues below ``floor``; 0 means that it ends here."""

    ids: Sequence[int]
    floor: int

    @classmethod
    def of(cls, ids: Sequence[int], limit: int) -> "Chunk":
        """Return the ids of a reader that was asked for ``limit``. Fewer end the timeline."""
        return cls(ids, ids[-1] if len(ids) == limit else 0)

    def cut(self, limit: int) -> "Chunk":
        """Return the chunk cut to ``limit`` ids."""
        return Chunk(self.ids[:limit], self.ids[limit - 1]) if len(self.ids) > limit else self


@dataclass
class Feed:
    """A timeline as ``viewer`` sees it (None: a visitor without a login). Subclasses say where its ids come from."""

    viewer: int | None
    parents: Parents = field(default_factory=Parents, init=False)

    def read_chunk(self, below: int, limit: int) -> Chunk:
        """Return the next ``limit`` ids below an id, fewer at the end of the timeline."""
        raise NotImplementedError

    def read_records(self, ids: Sequence[int]) -> list[PostRecord]:
        """Return these posts, as ``read_posts`` does."""
        return read_posts(ids, self.viewer)

    def exclude_blocked_and_muted(self, posts: list[PostRecord]) -> list[PostRecord]:
        """Return the posts without those of muted, blocked and blocking authors."""
        if self.viewer is None or not posts:
            return posts
        with mirror.together() as reads:
            blocked_and_muted = reads(
                blocks.find_blocked_and_muted, self.viewer, {post["user"]["id"] for post in posts}
            )
            answered = reads(read_answered, self.viewer, set(find_links(posts).values()))
        self.parents.keep(answered.value)
        return [post for post in posts if post["user"]["id"] not in blocked_and_muted.value]

    def read_page(self, after: int | None, size: int | None = None) -> PostPage:
        """Return ``size`` posts (default: PAGE_SIZE) below the id ``after``; None means the first page."""
        below, posts, size = after or MAX_ID, list[PostRecord](), size or PAGE_SIZE
        for limit in (size + EXTRA_IDS, *FURTHER_IDS):
            ids, below = self.read_chunk(below, limit)
            posts += self.exclude_blocked_and_muted(self.read_records(ids))
            # Bounded steps: a reader who has muted many authors gets a short page with a next one, and not a slow page.
            if len(posts) > size or not below:
                break
        goes_on = posts[size - 1]["id"] if len(posts) > size else below or None
        self.parents.add_to(self.viewer, posts[:size])
        return PostPage(posts[:size], goes_on, posts[0]["id"] if posts else 0)


def parse_cursor(text: str | None) -> int | None:
    """Parse the cursor in an address. Return None for the first page if it is missing or invalid."""
    return parse_id(text or "") or None


def read_records(ids: Sequence[int], viewer: int | None) -> list[PostRecord]:
    """Return the records of the posts among ``ids`` that the viewer may see, in their order, without blocks and mutes.

    Takes 1 round trip or 2 queries, and 1 query more with posts of private accounts.
    """
    return exclude_unapproved(viewer, list(PostMirror.get_many(ids).values()))


def read_posts(ids: Sequence[int], viewer: int | None) -> list[PostRecord]:
    """Return the visible posts among ``ids``, with their numbers of likes and replies and their stars.

    A rating is visible as long as its stars are. Takes 1 round trip, or 5 queries, 1 more with a viewer, and 2 more
    with reviews or ratings.
    """
    with mirror.together() as reads:
        records = reads(read_records, ids, viewer)
        tallies = reads(read_tallies, ids, viewer)
    for post in records.value:
        post.tally = tallies.value[post["id"]]
    return [post for post in records.value if post["kind"] != Post.Kind.RATING or post.tally.stars]


def read_shown_records(ids: Sequence[int], viewer: int | None) -> list[PostRecord]:
    """Return the records of ``read_records`` without ratings of which the stars are not public any more.

    Takes 1 round trip or 4 queries, and 1 query more with posts of private accounts.
    """
    with mirror.together() as reads:
        records = reads(read_records, ids, viewer)
        stars = reads(read_stars, ids)
    return [post for post in records.value if post["kind"] != Post.Kind.RATING or post["id"] in stars.value]


def exclude_hidden_ratings(posts: list[PostRecord]) -> list[PostRecord]:
    """Return the posts without ratings of which the stars are not public any more.

    Takes 1 round trip if there are ratings.
    """
    stars = read_stars([post["id"] for post in posts if post["kind"] == Post.Kind.RATING])
    return [post for post in posts if post["kind"] != Post.Kind.RATING or post["id"] in stars]
