"""Blocks and mutes between a viewer and the readers on a page.

The set in Redis does not distinguish mutes from blocks, so SQL is asked about its members. While SQL is away, all
members count as blocked: a page then shows too little rather than too much.
"""

from collections.abc import Collection

from mirror.conf import setting
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
    # Without SQL a mute cannot be told from a block. A page that shows too little harms less.
    except SQL_AWAY:
        return True


def find_blocked(viewer: int, people: Collection[int]) -> set[int]:
    """Return the users in ``people`` with a block between them and ``viewer``, from SQL (1 query)."""
    blocks = Block.objects.using(setting("DATABASE"))
    blocked = blocks.filter(blocker_id=viewer, blocked_id__in=people).values_list("blocked_id")
    return {
        pk for (pk,) in blocked.union(blocks.filter(blocked_id=viewer, blocker_id__in=people).values_list("blocker_id"))
    }


def find_hidden_in_lists(viewer: int, people: Collection[int]) -> set[int]:
    """Return the users that lists of logins do not show to ``viewer``: those with a block between them.

    While SQL is away, muted users are hidden as well, because the set in Redis does not distinguish them.
    """
    blocked_and_muted = find_blocked_and_muted(viewer, people)
    try:
        return find_blocked(viewer, blocked_and_muted) if blocked_and_muted else blocked_and_muted
    except SQL_AWAY:
        return blocked_and_muted
