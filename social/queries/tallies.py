"""What cards show beside the records of posts, from Redis or, with the same answer, from SQL.

The record of a post has its tally, so this module is below the mirrors.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.db.models import Count, QuerySet

import mirror
from catalog.shelves.records import count_stars
from mirror import Record, registry
from mirror.conf import database
from mirror.redis import RedisPipeline
from social import keys
from social.models import Like, Post
from social.reviews.records import find_stars


class Tally(NamedTuple):
    """What a card shows of structures beside the record of its post, so that a like changes no record.

    likes, replies: their numbers. is_liked: whether the viewer likes it. stars: of a review or rating, in halves, if
    they are public.
    """

    likes: int = 0
    replies: int = 0
    is_liked: bool = False
    stars: int | None = None

    @property
    def json(self) -> Record:
        """Return the fields of a post that pages in JSON add to those of its record."""
        return {
            "stars": count_stars(self.stars),
            "likes": self.likes,
            "is_liked": self.is_liked,
            "replies": self.replies,
        }


def read_tallies(ids: Sequence[int], viewer: int | None) -> dict[int, Tally]:
    """Return the numbers of each of these posts.

    Takes 1 round trip, or 3 queries, 1 more with a viewer, and 2 more with reviews or ratings.
    """
    # The viewer's likes are a question of their own, because the page cache reads a viewer's own keys ahead apart from
    # those that all visitors share.
    with mirror.together() as reads:
        likes = reads(count_likes, ids)
        replies = reads(_count_replies, ids)
        liked = reads(_find_liked, ids, viewer)
        stars = reads(read_stars, ids)
    tallies: dict[int, Tally] = {}
    for pk in ids:
        tallies[pk] = Tally(
            likes=likes.value.get(pk, 0),
            replies=replies.value.get(pk, 0),
            is_liked=pk in liked.value,
            stars=stars.value.get(pk),
        )
    return tallies


def count_likes(ids: Sequence[int]) -> dict[int, int]:
    """Return the number of likes of each of these posts. 1 round trip."""

    def add_commands(pipe: RedisPipeline) -> None:
        for pk in ids:
            pipe.scard(keys.likers(pk))

    return count_by_id(
        ids, "like", add_commands, lambda: Like.objects.using(database()).counted().filter(post_id__in=ids), "post_id"
    )


def _count_replies(ids: Sequence[int]) -> dict[int, int]:
    def add_commands(pipe: RedisPipeline) -> None:
        for pk in ids:
            pipe.zcard(keys.replies(pk))

    return count_by_id(
        ids,
        "post",
        add_commands,
        lambda: Post.objects.using(database()).counted().filter(parent_id__in=ids),
        "parent_id",
    )


def count_by_id(
    ids: Sequence[int],
    name: str,
    add_commands: Callable[[RedisPipeline], None],
    select: Callable[[], QuerySet[Any]],
    column: str,
) -> dict[int, int]:
    """Return the number of rows of each id. name: the mirror whose sets the commands count. select: returns the rows,
    whose ``column`` has the id; called only if SQL must answer, because a query set takes longer to build than Redis to
    answer.
    """
    if not ids:
        return {}

    def decode(replies: Sequence[Any]) -> dict[int, int]:
        return dict(zip(ids, replies, strict=True))

    def load() -> dict[int, int]:
        counts = dict(select().order_by().values_list(column).annotate(Count("pk")))
        return {pk: counts.get(pk, 0) for pk in ids}

    # Not by ``count`` of each: without Redis it would send a statement for each of these ids.
    return mirror.answer(mirror.Question([name], add_commands, decode, load))


def read_stars(ids: Sequence[int]) -> dict[int, int]:
    """Return the public stars of these posts, in halves, by post. 1 round trip."""
    if not ids:
        return {}

    def decode(replies: Sequence[Any]) -> dict[int, int]:
        (values,) = replies
        return {pk: int(value.rpartition(b":")[2]) for pk, value in zip(ids, values, strict=True) if value is not None}

    return mirror.answer(
        mirror.Question(
            ["rated_post"],
            ask=lambda pipe: pipe.mget([keys.post_stars(pk) for pk in ids]),
            decode=decode,
            load=lambda: find_stars(ids),
        )
    )


def _find_liked(ids: Sequence[int], viewer: int | None) -> set[int]:
    return set() if viewer is None else registry.get("like").filter_members(keys.likes(viewer), ids)
