"""The likes of posts, from Redis or, with the same answer, from SQL."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import Count

import mirror
from mirror.conf import database
from mirror.redis import RedisPipeline
from social import keys
from social.mirrors.edges import LikeMirror
from social.models import Like


class Likes(NamedTuple):
    """The number of likes of a post, and whether the viewer likes it."""

    number: int = 0
    is_mine: bool = False


def read_likes(ids: Sequence[int], viewer: int | None) -> dict[int, Likes]:
    """Return the likes of each of these posts. Takes 1 round trip, or 1 query and 1 more with a viewer."""
    # Two questions, because the page cache reads the viewer's own keys ahead apart from those that pages share.
    with mirror.together() as reads:
        numbers = reads(_count_likes, ids)
        liked = reads(_find_liked, ids, viewer)
    return {pk: Likes(numbers.value.get(pk, 0), pk in liked.value) for pk in ids}


def _count_likes(ids: Sequence[int]) -> dict[int, int]:
    def add_commands(pipe: RedisPipeline) -> None:
        for pk in ids:
            pipe.scard(keys.likers(pk))

    def decode(replies: Sequence[Any]) -> dict[int, int]:
        return dict(zip(ids, replies, strict=True))

    def load() -> dict[int, int]:
        likes = Like.objects.using(database()).filter(post_id__in=ids).order_by()
        return dict(likes.values_list("post_id").annotate(Count("pk")))

    # Not by ``count`` of each: without Redis it would send a statement for each of these posts.
    return mirror.answer(mirror.Question(["like"], add_commands, decode, load)) if ids else {}


def _find_liked(ids: Sequence[int], viewer: int | None) -> set[int]:
    return set() if viewer is None else LikeMirror.filter_members(keys.likes(viewer), ids)
