"""The thread around one post: the posts above it, and a page of the replies to it with the first replies to each.

Posts that were deleted, that staff hid, or that a block or a mute hides from the viewer, are missing alike, so that no
page reveals which it was.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import mirror
from mirror import Place
from mirror.read import RawRecord
from mirror.redis import RedisPipeline
from social import keys
from social.mirrors.posts import PostMirror
from social.queries.records import PostRecord
from social.queries.timelines import find_first_replies
from social.relations.blocks import find_blocked_and_muted, has_block_between
from social.reviews.mirrors import ReviewMirror
from social.timelines.pages import read_posts, read_records

REPLIES_PER_PAGE = 20
NESTED_REPLIES: Final = 3  # replies to each reply


class Branch(NamedTuple):
    """A reply, and the first replies to it."""

    post: PostRecord
    replies: list[PostRecord]

    @property
    def more(self) -> int:
        """Return the number of further replies to it."""
        return max(0, self.post.tally.replies - NESTED_REPLIES)

    @property
    def json(self) -> dict[str, Any]:
        """Return the branch as the JSON of a thread shows it."""
        return {**self.post.json, "first_replies": [post.json for post in self.replies]}


class Cursor(NamedTuple):
    """The position of a page of replies: those after an id, or those before it."""

    pk: int = 0
    is_before: bool = False


@dataclass(frozen=True)
class Thread:
    """A thread. post: None if it is missing. above: the ids of the posts above it, the parent last, and the posts.

    review: of the post of a review, its text (Markdown) and language.
    before, after: the cursors of the pages of earlier and of later replies, None if there are none.
    """

    post: PostRecord | None
    above: list[tuple[int, PostRecord | None]]
    branches: list[Branch]
    before: int | None
    after: int | None
    review: RawRecord | None


def read_thread(post_id: int, viewer: int | None, cursor: Cursor) -> Thread:
    """Return the thread of a post.

    Replies are in the order of their ids, so a page that begins at a cursor does not shift while replies arrive. Takes
    1 round trip without replies and posts above, at most 3 with them, and with a viewer 1 more for blocks and mutes.
    """
    with mirror.together() as reads:
        main = reads(read_posts, [post_id], viewer)
        parents = reads(_read_above, post_id, viewer)
        found = reads(_read_replies, post_id, viewer, cursor)
        review = reads(ReviewMirror.get, post_id)
    (ids, above), (places, replies, nested) = parents.value, found.value
    seconds = [post for some in nested.values() for post in some]
    shown = _exclude_blocked_and_muted(viewer, [*main.value, *above, *replies, *seconds])
    known = {post["id"]: post for post in above if post["id"] in shown}
    branches = [
        Branch(post, [one for one in nested.get(post["id"], []) if one["id"] in shown])
        for post in replies
        if post["id"] in shown
    ]
    post = main.value[0] if main.value and _may_see(viewer, main.value[0], shown) else None
    # Without the post, its author may be the one who is blocked: the posts above would tell too much.
    lines = [(pk, known.get(pk)) for pk in ids] if post else []
    return Thread(post, lines, branches, *_find_cursors(places, cursor), review.value if post else None)


def _may_see(viewer: int | None, post: PostRecord, shown: set[int]) -> bool:
    """Return whether no block exists between the viewer and the author. A mute does not hide the page of a post."""
    return post["id"] in shown or viewer is None or not has_block_between(viewer, post["user"]["id"])


def _read_above(post_id: int, viewer: int | None) -> tuple[list[int], list[PostRecord]]:
    """Return the ids of the posts above a post, and the visible posts among them."""
    found = read_records([post_id], viewer)
    ids = found[0]["reply_to"]["above"] if found and found[0]["reply_to"] else []
    return ids, read_posts(ids, viewer)


def _read_replies(
    post_id: int, viewer: int | None, cursor: Cursor
) -> tuple[list[int], list[PostRecord], dict[int, list[PostRecord]]]:
    """Return the ids of a page and one more, the posts of the page, and the first replies to each of them."""
    size, key = REPLIES_PER_PAGE + 1, keys.replies(post_id)
    if cursor.is_before:
        found: list[Place] = PostMirror.page(key, size, high=cursor.pk - 1, descending=True)
    else:
        found = PostMirror.page(key, size, low=cursor.pk + 1)
    places = [place.pk for place in found]
    ids = sorted(places[:REPLIES_PER_PAGE])
    with mirror.together() as reads:
        posts = reads(read_posts, ids, viewer)
        nested = reads(_read_nested, ids, viewer)
    return places, posts.value, nested.value


def _read_nested(ids: Sequence[int], viewer: int | None) -> dict[int, list[PostRecord]]:
    """Return the first replies to each of these posts."""
    children = _find_children(ids)
    posts = {post["id"]: post for post in read_posts([pk for some in children.values() for pk in some], viewer)}
    return {parent: [posts[pk] for pk in some if pk in posts] for parent, some in children.items()}


def _find_children(ids: Sequence[int]) -> dict[int, list[int]]:
    def add_commands(pipe: RedisPipeline) -> None:
        for pk in ids:
            pipe.zrange(keys.replies(pk), 0, NESTED_REPLIES - 1)

    def decode(replies: Sequence[Any]) -> dict[int, list[int]]:
        return {pk: list(map(int, found)) for pk, found in zip(ids, replies, strict=True)}

    # Not by ``page`` of each: without Redis it would send a statement for each of these posts.
    question = mirror.Question(["post"], add_commands, decode, lambda: find_first_replies(ids, NESTED_REPLIES))
    return mirror.answer(question) if ids else {}


def _exclude_blocked_and_muted(viewer: int | None, posts: Iterable[PostRecord]) -> set[int]:
    """Return the ids of these posts without those of muted, blocked and blocking authors."""
    authors = {post["id"]: post["user"]["id"] for post in posts}
    if viewer is None or not authors:
        return set(authors)
    blocked_and_muted = find_blocked_and_muted(viewer, set(authors.values()))
    return {pk for pk, author in authors.items() if author not in blocked_and_muted}


def _find_cursors(places: Sequence[int], cursor: Cursor) -> tuple[int | None, int | None]:
    """Return the cursors of the earlier and the later page. places: the ids of this page, and one more if it exists."""
    ids = sorted(places[:REPLIES_PER_PAGE])
    # Without a look at the other side: the page behind an outdated cursor may be empty, but leads back.
    goes_on = len(places) > REPLIES_PER_PAGE
    if cursor.is_before:
        return (ids[0] if goes_on else None), (ids[-1] if ids else max(0, cursor.pk - 1))
    return ((ids[0] if ids else cursor.pk + 1) if cursor.pk else None), (ids[-1] if goes_on else None)
