"""The posts that the replies on a page answer, for the line above each reply.

A line names the author and quotes the text, so it follows the rules of the post itself: blocks and mutes hide it. Posts
of private accounts and ratings are never quoted, because only SQL and the stars tell who may see them.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import mirror
from social.mirrors.posts import PostMirror
from social.models import Post
from social.queries.records import PostRecord
from social.relations.blocks import find_blocked_and_muted


class Link(NamedTuple):
    """What a reply answers. user: the author, None after the deletion of the account."""

    post: int
    user: int | None


class Answered(NamedTuple):
    """What was read for some links: the visible posts, and the hidden ones among the authors."""

    links: frozenset[Link]
    posts: list[PostRecord]
    hidden: set[int]


class Parents:
    """What the replies on one page answer."""

    def __init__(self) -> None:
        self._links: set[Link] = set()
        self._posts: dict[int, PostRecord] = {}
        self._hidden: set[int] = set()

    def keep(self, answered: Answered) -> None:
        """Remember for this page what was read."""
        self._links |= answered.links
        self._posts |= {post["id"]: post for post in answered.posts}
        self._hidden |= answered.hidden

    def add_to(self, viewer: int | None, posts: Sequence[PostRecord]) -> None:
        """Set ``parent`` of each reply where the viewer may see it. Takes 1 round trip if one was not read yet."""
        links = find_links(posts)
        if missing := set(links.values()) - self._links:
            self.keep(read_answered(viewer, missing))
        for post in posts:
            parent = self._posts.get(links[post["id"]].post) if post["id"] in links else None
            if parent is not None and parent["user"]["id"] not in self._hidden and _may_be_quoted(parent):
                post.parent = parent


def find_links(posts: Iterable[PostRecord]) -> dict[int, Link]:
    """Return what each reply among these posts answers, by the id of the reply."""
    return {post["id"]: Link(post["reply_to"]["id"], post["reply_to"]["user"]) for post in posts if post["reply_to"]}


def read_answered(viewer: int | None, links: Collection[Link]) -> Answered:
    """Read the posts of these links, and which of their authors are hidden from the viewer. 1 round trip."""
    authors = sorted({link.user for link in links if link.user is not None})
    with mirror.together() as reads:
        posts = reads(PostMirror.get_many, sorted({link.post for link in links}))
        hidden = reads(_find_hidden, viewer, authors)
    return Answered(frozenset(links), list(posts.value.values()), hidden.value)


def _find_hidden(viewer: int | None, authors: Sequence[int]) -> set[int]:
    return find_blocked_and_muted(viewer, authors) if viewer is not None and authors else set()


def _may_be_quoted(post: PostRecord) -> bool:
    return not post["is_private"] and post["kind"] != Post.Kind.RATING
