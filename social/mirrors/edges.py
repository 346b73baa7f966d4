"""Mirrors of follows, likes, blocks and mutes. The key "5:7" names the edge from user 5 to user 7 (a like: post 7)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

import mirror
from accounts.models import User
from common.database import pairs
from common.ids import parse_id, parse_ids
from mirror import Contribution, EdgeMirror, Member, SetOf, SqlMembers, Watch
from mirror.conf import database, setting
from social import keys
from social.models import Block, Follow, Like, Mute, Pulled, find_inactive


def split_key(pk: str) -> tuple[str, str]:
    """Split an edge's key into the ids of its source and its target."""
    who, _, whom = pk.partition(":")
    return who, whom


_SELECT_FOLLOWS = """
    SELECT f.follower_id, f.followee_id, EXISTS (SELECT 1 FROM social_pulled p WHERE p.user_id = f.followee_id)
      FROM k
      JOIN social_follow f ON f.follower_id = k.a AND f.followee_id = k.b
      JOIN accounts_user x ON x.id = k.a AND x.is_active
      JOIN accounts_user y ON y.id = k.b AND y.is_active
"""
_SELECT_LIKES = """
    SELECT l.user_id, l.post_id
      FROM k
      JOIN social_like l ON l.user_id = k.a AND l.post_id = k.b
      JOIN accounts_user x ON x.id = k.a AND x.is_active
"""
_SELECT_BLOCKED_AND_MUTED = """
    SELECT k.a, k.b FROM k
     WHERE EXISTS (SELECT 1 FROM social_mute m WHERE m.user_id = k.a AND m.muted_id = k.b)
        OR EXISTS (SELECT 1 FROM social_block b WHERE b.blocker_id = k.a AND b.blocked_id = k.b)
        OR EXISTS (SELECT 1 FROM social_block b WHERE b.blocker_id = k.b AND b.blocked_id = k.a)
"""


def find_follows_of_users(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of follows from or to these users, ordered by follower and followee."""
    users, found = parse_ids(values), set()
    # Two queries, each by an index: one with OR would sort all follows of these users.
    for end in ("follower_id", "followee_id"):
        rows = Follow._base_manager.using(setting("DATABASE")).filter(**{f"{end}__in": users})
        found |= set(pairs.find_next(rows, "follower_id", "followee_id", after, limit))
    return [f"{a}:{b}" for a, b in sorted(found)[:limit]]


def find_follows_of_pulled(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of follows of these authors, ordered by author and follower."""
    rows = Follow._base_manager.using(setting("DATABASE")).filter(followee_id__in=parse_ids(values))
    turned = after and ":".join(reversed(split_key(after)))
    found = pairs.find_next(rows, "followee_id", "follower_id", turned, limit)
    return [f"{follower}:{followee}" for followee, follower in found]


def select_follows(**ends: Any) -> QuerySet[Follow]:
    """Return the follows between active users with this end, newest first, because readers may want only some."""
    inactive = find_inactive(database())
    follows = Follow._base_manager.using(database()).filter(**ends)
    return follows.exclude(follower_id__in=inactive).exclude(followee_id__in=inactive).order_by("-pk")


def find_followees(values: Mapping[str, str]) -> SqlMembers:
    """Return the users that a user follows."""
    return SqlMembers(select_follows(follower_id__in=parse_ids([values["owner"]])), "followee_id")


def find_followers(values: Mapping[str, str]) -> SqlMembers:
    """Return the followers of a user."""
    return SqlMembers(select_follows(followee_id__in=parse_ids([values["owner"]])), "follower_id")


def find_pulled_followees(values: Mapping[str, str]) -> SqlMembers:
    """Return the pulled authors that a user follows."""
    pulled = Pulled.objects.using(database()).values("user_id")
    return SqlMembers(
        select_follows(follower_id__in=parse_ids([values["owner"]]), followee_id__in=pulled), "followee_id"
    )


@mirror.register
class FollowMirror(EdgeMirror):
    """Each reader's followed users, followers, and followed pulled authors. Edges of inactive users are absent."""

    name = "follow"
    model = Follow
    indexes = (
        SetOf(keys.following("{{owner}}"), owner="{owner}:{member}", sql=find_followees),
        SetOf(keys.followers("{{owner}}"), owner="{member}:{owner}", sql=find_followers),
        SetOf(keys.pulls("{{owner}}"), owner="{owner}:{member}", sql=find_pulled_followees),
    )
    watches = (
        Watch(Follow, ("follower_id", "followee_id")),
        Watch(User, via=find_follows_of_users, only=("is_active",), inserts=False),
        # Only the existence of a row counts. Writers read its state in SQL.
        Watch(Pulled, via=find_follows_of_pulled, only=("user_id",)),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, bool]:
        """Return the existing follows among these keys; the value is True if the followee is a pulled author."""
        return {f"{a}:{b}": bool(pulled) for a, b, pulled in pairs.query_pairs(_SELECT_FOLLOWS, pairs.parse_pairs(pks))}

    def entries(self, pk: str) -> Iterable[Contribution]:
        who, whom = split_key(pk)
        return (
            Member(keys.following(who), whom),
            Member(keys.followers(whom), who),
            Member(keys.pulls(who), whom),
        )

    def present(self, pk: str, value: Any) -> Iterable[Contribution]:
        found = tuple(self.entries(pk))
        return found if value else found[:2]


def find_likes_by_users(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of likes by these users, ordered by user and post."""
    likes = Like._base_manager.using(setting("DATABASE")).filter(user_id__in=parse_ids(values))
    return pairs.list_next(likes, "user_id", "post_id", after, limit)


def find_likers(values: Mapping[str, str]) -> SqlMembers:
    """Return the users that like a post."""
    likes = Like.objects.using(database()).counted()
    return SqlMembers(likes.filter(post_id__in=parse_ids([values["owner"]])), "user_id")


def find_liked_posts(values: Mapping[str, str]) -> SqlMembers:
    """Return the posts that a user likes."""
    likes = Like.objects.using(database()).counted()
    return SqlMembers(likes.filter(user_id__in=parse_ids([values["owner"]])), "post_id")


@mirror.register
class LikeMirror(EdgeMirror):
    """Each post's likers, whose number is the post's number of likes, and each reader's liked posts.

    Likes of inactive users are absent, as are their follows. Those of users that the author has blocked since count.
    """

    name = "like"
    version = 2  # without inactive users
    model = Like
    indexes = (
        SetOf(keys.likers("{{owner}}"), owner="{member}:{owner}", sql=find_likers),
        SetOf(keys.likes("{{owner}}"), owner="{owner}:{member}", sql=find_liked_posts),
    )
    watches = (
        Watch(Like, ("user_id", "post_id")),
        Watch(User, via=find_likes_by_users, only=("is_active",), inserts=False),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, bool]:
        return {f"{a}:{b}": True for a, b in pairs.query_pairs(_SELECT_LIKES, pairs.parse_pairs(pks))}

    def entries(self, pk: str) -> Iterable[Contribution]:
        reader, post = split_key(pk)
        return (Member(keys.likers(post), reader), Member(keys.likes(reader), post))


def select_blocked_and_muted(viewer: int) -> QuerySet[Any, Any]:
    """Return the ids of the users that a user has muted or blocked, or that have blocked the user."""
    blocks, mutes = Block.objects.using(database()), Mute.objects.using(database())
    # A union, because PostgreSQL would compare every row of the outer query with each part of an "or".
    return (
        blocks.filter(blocker_id=viewer)
        .values("blocked_id")
        .union(
            blocks.filter(blocked_id=viewer).values("blocker_id"),
            mutes.filter(user_id=viewer).values("muted_id"),
        )
    )


def list_blocked_and_muted(values: Mapping[str, str]) -> SqlMembers:
    """Return the users between whom and a user is a mute or block."""
    return SqlMembers(
        User._base_manager.using(database()).filter(pk__in=select_blocked_and_muted(parse_id(values["owner"]) or 0))
    )


@mirror.register
class ShunMirror(EdgeMirror):
    """For each reader, the users that the reader has muted or blocked and the users that have blocked the reader."""

    name = "shun"
    label = _("blocks and mutes")
    model = Block
    strict = True
    indexes = (SetOf(keys.shuns("{{owner}}"), owner="{owner}:{member}", sql=list_blocked_and_muted),)
    watches = (
        Watch(Block, ("blocker_id", "blocked_id")),
        # A block is an edge in both directions, because neither sees the other.
        Watch(Block, ("blocked_id", "blocker_id")),
        Watch(Mute, ("user_id", "muted_id")),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, bool]:
        return {f"{a}:{b}": True for a, b in pairs.query_pairs(_SELECT_BLOCKED_AND_MUTED, pairs.parse_pairs(pks))}

    def entries(self, pk: str) -> Iterable[Contribution]:
        who, whom = split_key(pk)
        return (Member(keys.shuns(who), whom),)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        found: set[tuple[int, int]] = set()
        for model, first, second in _SHUN_SOURCES:
            rows = model._base_manager.using(setting("DATABASE"))
            found |= set(pairs.find_next(rows, first, second, after, limit))
        return [f"{a}:{b}" for a, b in sorted(found)[:limit]]


_SHUN_SOURCES = (
    (Block, "blocker_id", "blocked_id"),
    (Block, "blocked_id", "blocker_id"),
    (Mute, "user_id", "muted_id"),
)
