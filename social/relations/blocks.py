"""Blocks and mutes between a viewer and the readers on a page.

The set in Redis does not distinguish mutes from blocks, so SQL is asked about its members. While SQL is away, all
members count as blocked: a page then shows too little rather than too much.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

from common.additions import Addition
from mirror.conf import setting
from mirror.redis import RedisPipeline
from mirror.utils import SQL_AWAY
from social import keys
from social.mirrors.edges import ShunMirror
from social.models import Block


def find_blocked_and_muted(viewer: int, people: Collection[int]) -> set[int]:
    """Return the users in ``people`` that ``viewer`` has muted or blocked, or that have blocked ``viewer``.

    Takes 1 round trip or 1 query.
    """
    return ShunMirror.filter_members(keys.shuns(viewer), [pk for pk in people if pk != viewer])


def has_block_between(one: int, other: int) -> bool:
    """Return whether either user has blocked the other, from SQL (1 query); True while SQL is away."""
    blocks = Block.objects.using(setting("DATABASE"))
    either = blocks.filter(blocker_id=one, blocked_id=other).union(blocks.filter(blocker_id=other, blocked_id=one))
    try:
        return either.exists()
    except SQL_AWAY:
        return True


def find_blocked(viewer: int, people: Collection[int]) -> set[int]:
    """Return the users in ``people`` with a block between them and ``viewer``, from SQL (1 query)."""
    blocks = Block.objects.using(setting("DATABASE"))
    blocked = blocks.filter(blocker_id=viewer, blocked_id__in=people).values_list("blocked_id")
    return {
        pk for (pk,) in blocked.union(blocks.filter(blocked_id=viewer, blocker_id__in=people).values_list("blocker_id"))
    }


def _queue_blocks(pipe: RedisPipeline, viewer: int, people: Sequence[int]) -> None:
    pipe.smismember(keys.shuns(viewer), list(map(str, people)))


def _parse_blocks(viewer: int, people: Sequence[int], reply: Any) -> set[int]:
    """Return the users with a block between them and ``viewer``; muted users as well while SQL is away."""
    shunned = {pk for pk, is_shunned in zip(people, reply, strict=True) if is_shunned}
    try:
        return find_blocked(viewer, shunned) if shunned else shunned
    except SQL_AWAY:
        return shunned


# Lists of logins name every reader except those with a block between them and the viewer.
HIDE_BLOCKED: Final = Addition(
    name="shun", mirrors=["shun"], add_commands=_queue_blocks, parse_replies=_parse_blocks, read_from_sql=find_blocked
)
