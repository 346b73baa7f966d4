"""Follows that two readers have in common: "followed by 34 you follow", "you both follow ...".

The smaller of two sets is read in chunks, and each chunk is looked up in the larger set (SMISMEMBER). A SINTER of large
sets would block Redis for 10 ms. The work is bounded: above the limits a page says "more than".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.db.models import Exists, OuterRef

from mirror.conf import setting
from mirror.read import read
from mirror.redis import RedisPipeline
from social import keys
from social.models import Follow
from social.relations.profiles import Person, Profile, find_people_in_sql, parse_people, queue_people

CHUNK_SIZE: Final = 500  # members per look-up in the larger set
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
        return self.is_more or self.count > len(self.named)


class CommonFollows(NamedTuple):
    """Readers that connect a viewer with the owner of a profile.

    ``followed_by``: followers of the owner that the viewer follows. ``both_follow``: readers that both follow.
    """

    followed_by: CommonReaders
    both_follow: CommonReaders


class _SetPair(NamedTuple):
    """The keys of two sets: members of the smaller are read and looked up in the larger."""

    smaller: str
    larger: str


class _FoundIds(NamedTuple):
    """Ascending ids found in a set, or in both sets of a pair; ``is_cut`` if the set was not read to its end."""

    ids: list[int]
    is_cut: bool


NO_COMMON_FOLLOWS: Final = CommonFollows(CommonReaders(), CommonReaders())


def find_common_follows(profile: Profile) -> CommonFollows:
    """Return the follows that the viewer of a profile and its owner have in common.

    Warm mirrors answer in 3 round trips and no SQL.
    """
    if profile.viewer is None or profile.is_me or profile.is_blocked or not profile.viewer_follows:
        return NO_COMMON_FOLLOWS
    return _find_in_redis(profile) or _find_in_sql(profile.viewer, profile.id)


def _find_in_redis(profile: Profile) -> CommonFollows | None:
    me = profile.viewer or 0
    mine, size = keys.following(me), profile.viewer_follows
    pairs = [
        _order_by_size(mine, size, keys.followers(profile.id), profile.followers),
        _order_by_size(mine, size, keys.following(profile.id), profile.following),
    ]
    members = _read_members({pair.smaller for pair in pairs})
    seen = None if members is None else _intersect_pairs(pairs, members)
    if seen is None:
        return None
    wanted = [found.ids[:MAX_COUNTED] for found in seen]

    def ask(pipe: RedisPipeline) -> None:
        for ids in wanted:
            queue_people(pipe, me, ids)

    reading = read(["user", "shun"], ask) if any(wanted) else None
    if reading is None:
        return None if any(wanted) else NO_COMMON_FOLLOWS
    replies, made = iter(reading.replies), []
    for found, ids in zip(seen, wanted, strict=True):
        people = parse_people(ids, [next(replies) for _ in range(len(ids) + bool(ids))])
        made.append(_build_common_readers(people, is_more=found.is_cut or len(found.ids) > MAX_COUNTED))
    return CommonFollows(*made)


def _order_by_size(one: str, size: int, other: str, other_size: int) -> _SetPair:
    return _SetPair(one, other) if size <= other_size else _SetPair(other, one)


def _read_members(names: Iterable[str]) -> dict[str, _FoundIds] | None:
    """Return the members of these sets, up to about LOOKED_AT of each; None if SQL must answer.

    Sets of up to 500 members take 1 round trip.
    """
    cursors: dict[str, int] = dict.fromkeys(names, 0)
    found: dict[str, set[int]] = {name: set() for name in cursors}
    cut: set[str] = set()
    while cursors:
        asked = list(cursors)

        def ask(pipe: RedisPipeline, asked: list[str] = asked) -> None:
            for name in asked:
                pipe.sscan(name, cursors[name], count=CHUNK_SIZE)

        reading = read(["follow"], ask)
        if reading is None:
            return None
        for name, (cursor, some) in zip(asked, reading.replies, strict=True):
            found[name].update(map(int, some))
            cursors[name] = cursor
            if cursor and len(found[name]) >= MAX_MEMBERS_READ:
                cut.add(name)
            if not cursor or name in cut:
                del cursors[name]
    return {name: _FoundIds(sorted(ids), name in cut) for name, ids in found.items()}


def _intersect_pairs(pairs: Sequence[_SetPair], members: dict[str, _FoundIds]) -> list[_FoundIds] | None:
    """Return, for each pair, the members of the smaller set that the larger set contains; None if SQL must answer.

    Takes 1 round trip.
    """
    asked = [(pair, chunk) for pair in pairs for chunk in _split_into_chunks(members[pair.smaller].ids)]
    if not asked:
        return [_FoundIds([], False) for _ in pairs]
    reading = read(["follow"], lambda pipe: [pipe.smismember(pair.larger, [*chunk]) for pair, chunk in asked])
    if reading is None:
        return None
    found: dict[_SetPair, list[int]] = {pair: [] for pair in pairs}
    for (pair, chunk), replies in zip(asked, reading.replies, strict=True):
        found[pair] += [pk for pk, is_in in zip(chunk, replies, strict=True) if is_in]
    return [_FoundIds(found[pair], members[pair.smaller].is_cut) for pair in pairs]


def _split_into_chunks(ids: Sequence[int]) -> list[Sequence[int]]:
    return [ids[start : start + CHUNK_SIZE] for start in range(0, len(ids), CHUNK_SIZE)]


def _build_common_readers(people: Sequence[Person], *, is_more: bool) -> CommonReaders:
    return CommonReaders(len(people), is_more, tuple(people[:MAX_NAMED]))


def _find_in_sql(me: int, owner: int) -> CommonFollows:
    follows = Follow.objects.using(setting("DATABASE"))
    mine = follows.filter(follower_id=me).order_by("followee_id")
    them = OuterRef("followee_id")
    made = []
    for theirs in (
        follows.filter(follower_id=them, followee_id=owner),
        follows.filter(follower_id=owner, followee_id=them),
    ):
        ids = list(mine.filter(Exists(theirs)).values_list("followee_id", flat=True)[: MAX_COUNTED + 1])
        made.append(_build_common_readers(find_people_in_sql(me, ids[:MAX_COUNTED]), is_more=len(ids) > MAX_COUNTED))
    return CommonFollows(*made)
