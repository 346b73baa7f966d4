"""Follows that two readers have in common: "followed by 34 you follow", "you both follow ...".

The smaller of two sets is read up to a limit, and its members are looked up in the larger set in chunks. A SINTER of
large sets would block Redis for 10 ms. The work is bounded: above the limits a page says "more than".
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import mirror
from social import keys
from social.mirrors.edges import FollowMirror
from social.relations.profiles import Person, Profile, find_people

CHUNK_SIZE: Final = 500  # members per command, between which Redis serves others
MAX_MEMBERS_READ: Final = 2000  # members of the smaller set that are read
MAX_COUNTED: Final = 500  # readers in common
MAX_NAMED: Final = 3


@dataclass(frozen=True)
class CommonReaders:
    """Readers in common. ``count`` is a lower bound if ``is_more``; ``named`` has the first ``MAX_NAMED`` by id."""

    count: int = 0
    is_more: bool = False
    named: tuple[Person, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Return whether ``named`` is incomplete."""
        return self.is_more or self.unnamed > 0

    @property
    def unnamed(self) -> int:
        """Return the number of readers that ``named`` lacks."""
        return self.count - len(self.named)


class CommonFollows(NamedTuple):
    """Readers that connect a viewer with the owner of a profile.

    ``followed_by``: followers of the owner that the viewer follows. ``both_follow``: readers that both follow.
    """

    followed_by: CommonReaders
    both_follow: CommonReaders


class _Members(NamedTuple):
    """The key of a set, and its size as the profile counts it."""

    key: str
    size: int


NO_COMMON_FOLLOWS: Final = CommonFollows(CommonReaders(), CommonReaders())


def find_common_follows(profile: Profile) -> CommonFollows:
    """Return the follows that the viewer of a profile and its owner have in common.

    Warm mirrors answer in 3 round trips and no SQL.
    """
    if profile.viewer is None or profile.is_me or profile.is_blocked or profile.is_locked or not profile.viewer_follows:
        return NO_COMMON_FOLLOWS
    mine = _Members(keys.following(profile.viewer), profile.viewer_follows)
    with mirror.together() as reads:
        followed_by = reads(_find_common, profile.viewer, mine, _Members(keys.followers(profile.id), profile.followers))
        both_follow = reads(_find_common, profile.viewer, mine, _Members(keys.following(profile.id), profile.following))
    return CommonFollows(followed_by.value, both_follow.value)


def _find_common(viewer: int, one: _Members, other: _Members) -> CommonReaders:
    """Return the readers in both sets that the viewer may see, in 3 round trips."""
    smaller, larger = sorted((one, other), key=lambda each: each.size)
    # One member more than the limit shows that the set is larger: its size on the profile may be older or smaller.
    members = sorted(FollowMirror.members(smaller.key, limit=MAX_MEMBERS_READ + 1))
    is_cut = len(members) > MAX_MEMBERS_READ
    chunks = [members[start : start + CHUNK_SIZE] for start in range(0, MAX_MEMBERS_READ, CHUNK_SIZE)]
    with mirror.together() as reads:
        found = [reads(FollowMirror.filter_members, larger.key, chunk) for chunk in chunks]
    # Ascending ids, so that a page names the same readers each time it is shown.
    ids = sorted(pk for part in found for pk in part.value)
    people = find_people(viewer, ids[:MAX_COUNTED])
    return CommonReaders(len(people), is_cut or len(ids) > MAX_COUNTED, tuple(people[:MAX_NAMED]))
