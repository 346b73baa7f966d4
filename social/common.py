"""Follows that two readers have in common: "followed by 34 you follow", "you both follow ...".

The smaller of two sets is read in chunks, and each chunk is looked up in the larger set (SMISMEMBER). A SINTER of large
sets would block Redis for 10 ms. The work is bounded: above the limits a page says "more than".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.db.models import Exists, OuterRef

from mirror.conf import setting
from mirror.read import read
from social import keys
from social.models import Follow
from social.people import Person, Profile, ask_people, people_by_sql, read_people

CHUNK: Final = 500  # members per look-up in the larger set
LOOKED_AT: Final = 2000  # members of the smaller set that are read
COUNTED: Final = 500  # readers in common
NAMED: Final = 3


@dataclass(frozen=True)
class Common:
    """Readers in common. ``count`` is a lower bound if ``is_more``; ``named`` has the first ``NAMED`` by id."""

    count: int = 0
    is_more: bool = False
    named: tuple[Person, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Return whether ``named`` is incomplete."""
        return self.is_more or self.count > len(self.named)


class InCommon(NamedTuple):
    """Readers that connect a viewer with the owner of a profile.

    ``followed_by``: followers of the owner that the viewer follows. ``both_follow``: readers that both follow.
    """

    followed_by: Common
    both_follow: Common


class _Pair(NamedTuple):
    """The keys of two sets: members of the smaller are read and looked up in the larger."""

    smaller: str
    larger: str


class _Seen(NamedTuple):
    """Ascending ids found in a set, or in both sets of a pair; ``is_cut`` if the set was not read to its end."""

    ids: list[int]
    is_cut: bool


NOTHING: Final = InCommon(Common(), Common())


def in_common(profile: Profile) -> InCommon:
    """Return the follows that the viewer of a profile and its owner have in common.

    Warm mirrors answer in 3 round trips and no SQL.
    """
    if profile.viewer is None or profile.is_me or profile.is_blocked or not profile.viewer_follows:
        return NOTHING
    return _from_redis(profile) or _from_sql(profile.viewer, profile.id)


def _from_redis(profile: Profile) -> InCommon | None:
    me = profile.viewer or 0
    mine, size = keys.following(me), profile.viewer_follows
    pairs = [
        _pair(mine, size, keys.followers(profile.id), profile.followers),
        _pair(mine, size, keys.following(profile.id), profile.following),
    ]
    members = _members({pair.smaller for pair in pairs})
    seen = None if members is None else _in_both(pairs, members)
    if seen is None:
        return None
    wanted = [found.ids[:COUNTED] for found in seen]

    def ask(pipe: Any) -> None:
        for ids in wanted:
            ask_people(pipe, me, ids)

    reading = read(["user", "shun"], ask) if any(wanted) else None
    if reading is None:
        return None if any(wanted) else NOTHING
    replies, made = iter(reading.replies), []
    for found, ids in zip(seen, wanted, strict=True):
        people = read_people(ids, [next(replies) for _ in range(len(ids) + bool(ids))])
        made.append(_common(people, is_more=found.is_cut or len(found.ids) > COUNTED))
    return InCommon(*made)


def _pair(one: str, size: int, other: str, other_size: int) -> _Pair:
    return _Pair(one, other) if size <= other_size else _Pair(other, one)


def _members(names: Iterable[str]) -> dict[str, _Seen] | None:
    """Return the members of these sets, up to about LOOKED_AT of each; None if SQL must answer.

    Sets of up to 500 members take 1 round trip.
    """
    cursors: dict[str, int] = dict.fromkeys(names, 0)
    found: dict[str, set[int]] = {name: set() for name in cursors}
    cut: set[str] = set()
    while cursors:
        asked = list(cursors)

        def ask(pipe: Any, asked: list[str] = asked) -> None:
            for name in asked:
                pipe.sscan(name, cursors[name], count=CHUNK)

        reading = read(["follow"], ask)
        if reading is None:
            return None
        for name, (cursor, some) in zip(asked, reading.replies, strict=True):
            found[name].update(map(int, some))
            cursors[name] = cursor
            if cursor and len(found[name]) >= LOOKED_AT:
                cut.add(name)
            if not cursor or name in cut:
                del cursors[name]
    return {name: _Seen(sorted(ids), name in cut) for name, ids in found.items()}


def _in_both(pairs: Sequence[_Pair], members: dict[str, _Seen]) -> list[_Seen] | None:
    """Return, for each pair, the members of the smaller set that the larger set contains; None if SQL must answer.

    Takes 1 round trip.
    """
    asked = [(pair, chunk) for pair in pairs for chunk in _chunks(members[pair.smaller].ids)]
    if not asked:
        return [_Seen([], False) for _ in pairs]
    reading = read(["follow"], lambda pipe: [pipe.smismember(pair.larger, chunk) for pair, chunk in asked])
    if reading is None:
        return None
    found: dict[_Pair, list[int]] = {pair: [] for pair in pairs}
    for (pair, chunk), replies in zip(asked, reading.replies, strict=True):
        found[pair] += [pk for pk, is_in in zip(chunk, replies, strict=True) if is_in]
    return [_Seen(found[pair], members[pair.smaller].is_cut) for pair in pairs]


def _chunks(ids: Sequence[int]) -> list[Sequence[int]]:
    return [ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK)]


def _common(people: Sequence[Person], *, is_more: bool) -> Common:
    return Common(len(people), is_more, tuple(people[:NAMED]))


def _from_sql(me: int, owner: int) -> InCommon:
    follows = Follow.objects.using(setting("DATABASE"))
    mine = follows.filter(follower_id=me).order_by("followee_id")
    them = OuterRef("followee_id")
    made = []
    for theirs in (
        follows.filter(follower_id=them, followee_id=owner),
        follows.filter(follower_id=owner, followee_id=them),
    ):
        ids = list(mine.filter(Exists(theirs)).values_list("followee_id", flat=True)[: COUNTED + 1])
        made.append(_common(people_by_sql(me, ids[:COUNTED]), is_more=len(ids) > COUNTED))
    return InCommon(*made)
