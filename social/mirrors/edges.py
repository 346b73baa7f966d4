"""How follows, blocks and mutes show in Redis: edges, named "5:7" by who wants something and of whom."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q

import mirror
from accounts.models import User
from config import pairs
from mirror import Contribution, EdgeMirror, Family, Member, Watch
from mirror.conf import setting
from social import keys
from social.models import Block, Follow, Mute, Pulled
from social.records import numbers


def ends(pk: str) -> tuple[str, str]:
    """Who, and of whom."""
    who, _, whom = pk.partition(":")
    return who, whom


def _pairs(pks: Sequence[str]) -> list[tuple[int, int]]:
    """Both ends as numbers; what is no edge's key is left out."""
    return [(found[0], found[1]) for pk in pks if len(found := numbers(pk.split(":"))) == 2]


_FOLLOWS = """
    SELECT f.follower_id, f.followee_id, EXISTS (SELECT 1 FROM social_pulled p WHERE p.user_id = f.followee_id)
      FROM k
      JOIN social_follow f ON f.follower_id = k.a AND f.followee_id = k.b
      JOIN accounts_user x ON x.id = k.a AND x.is_active
      JOIN accounts_user y ON y.id = k.b AND y.is_active
"""
_SHUNNED = """
    SELECT k.a, k.b FROM k
     WHERE EXISTS (SELECT 1 FROM social_mute m WHERE m.user_id = k.a AND m.muted_id = k.b)
        OR EXISTS (SELECT 1 FROM social_block b WHERE b.blocker_id = k.a AND b.blocked_id = k.b)
        OR EXISTS (SELECT 1 FROM social_block b WHERE b.blocker_id = k.b AND b.blocked_id = k.a)
"""


def edges_of_users(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """The next follows from or to these users, by both ends."""
    users, found = numbers(values), set()
    for end in ("follower_id", "followee_id"):
        rows = Follow._base_manager.using(setting("DATABASE")).filter(**{f"{end}__in": users})
        if after is not None:
            rows = rows.filter(_behind("follower_id", "followee_id", after))
        rows = rows.order_by("follower_id", "followee_id")
        found |= set(rows.values_list("follower_id", "followee_id")[:limit])
    return [f"{a}:{b}" for a, b in sorted(found)[:limit]]


def _behind(first: str, second: str, after: str) -> Q:
    """Rows whose two columns come after those of an edge."""
    a, b = numbers(after.split(":"))
    return Q(**{f"{first}__gt": a}) | Q(**{first: a, f"{second}__gt": b})


def edges_to_pulled(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """The next follows of these authors, by author and follower."""
    found = Follow._base_manager.using(setting("DATABASE")).filter(followee_id__in=numbers(values))
    if after is not None:
        found = found.filter(_behind("followee_id", "follower_id", ":".join(reversed(ends(after)))))
    rows = found.order_by("followee_id", "follower_id").values_list("follower_id", "followee_id")[:limit]
    return [f"{follower}:{followee}" for follower, followee in rows]


@mirror.register
class FollowMirror(EdgeMirror):
    """Whom somebody follows, who follows somebody, and whose posts a follower has to fetch. People who are inactive
    follow nobody and are followed by nobody, until they are back.
    """

    name = "follow"
    model = Follow
    watches = (
        Watch(Follow, ("follower_id", "followee_id")),
        Watch(User, via=edges_of_users, only=("is_active",), updates=True),
        Watch(Pulled, via=edges_to_pulled, only=("user_id",)),  # that there is one; its state is for writers
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, bool]:
        """The follows that there are; True: the posts are fetched."""
        return {f"{a}:{b}": bool(pulled) for a, b, pulled in pairs.ask(_FOLLOWS, _pairs(pks))}

    def entries(self, pk: str) -> Iterable[Contribution]:
        who, whom = ends(pk)
        return (
            Member(keys.following(who), whom),
            Member(keys.followers(whom), who),
            Member(keys.pulls(who), whom),
        )

    def present(self, pk: str, value: Any) -> Iterable[Contribution]:
        found = tuple(self.entries(pk))
        return found if value else found[:2]

    def families(self) -> Sequence[Family]:
        return (
            _family(keys.following("\0"), lambda who, member: f"{who}:{member}"),
            _family(keys.followers("\0"), lambda whom, member: f"{member}:{whom}"),
            _family(keys.pulls("\0"), lambda who, member: f"{who}:{member}"),
        )


@mirror.register
class ShunMirror(EdgeMirror):
    """Whose posts somebody does not see: whom they muted or blocked, and who blocked them."""

    name = "shun"
    model = Block
    strict = True
    watches = (
        Watch(Block, ("blocker_id", "blocked_id")),
        Watch(Block, ("blocked_id", "blocker_id")),
        Watch(Mute, ("user_id", "muted_id")),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, bool]:
        return {f"{a}:{b}": True for a, b in pairs.ask(_SHUNNED, _pairs(pks))}

    def entries(self, pk: str) -> Iterable[Contribution]:
        who, whom = ends(pk)
        return (Member(keys.shuns(who), whom),)

    def families(self) -> Sequence[Family]:
        return (_family(keys.shuns("\0"), lambda who, member: f"{who}:{member}"),)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        found: set[tuple[int, int]] = set()
        for model, first, second in _SHUNS:
            rows = model._base_manager.using(setting("DATABASE")).order_by(first, second)
            if after is not None:
                rows = rows.filter(_behind(first, second, after))
            found |= set(rows.values_list(first, second)[:limit])
        return [f"{a}:{b}" for a, b in sorted(found)[:limit]]


_SHUNS = (
    (Block, "blocker_id", "blocked_id"),
    (Block, "blocked_id", "blocker_id"),
    (Mute, "user_id", "muted_id"),
)


def _family(name: str, edge: Any) -> Family:
    """The sets named so, a person's id standing where the NUL is; ``edge`` from that id and a member to the edge."""
    start, _, end = name.partition("\0")
    return Family(start, "set", lambda key, member: edge(key[len(start) : len(key) - len(end)], member), end=end)
