"""Profiles and names of readers as a viewer may see them, from Redis or, with the same answer, from SQL.

``viewer`` is the id of the reader that views the page; None means a visitor without a login.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import mirror
from accounts import keys as accounts_keys
from accounts.mirrors import users
from accounts.names import make_public_path
from accounts.selectors import find_user_id
from mirror.conf import setting
from mirror.redis import RedisPipeline
from mirror.utils import SQL_AWAY
from social import keys
from social.mirrors.edges import FollowMirror, ShunMirror, select_blocked_and_muted
from social.mirrors.posts import PostMirror
from social.models import Block, Follow, FollowRequest, Mute
from social.relations.approval import find_approved
from social.relations.blocks import find_blocked_and_muted
from social.reviews.mirrors import RatedPostMirror

USER_FIELDS: Final = ("name", "is_active", "avatar")  # of the user mirror's record


class Person(NamedTuple):
    """A reader that the viewer may see."""

    id: int
    name: str
    avatar: str = ""

    @property
    def url(self) -> str:
        """Return the address of the reader's page; "" if no address can contain the name."""
        return make_public_path(self.name)


@dataclass(frozen=True)
class Profile:
    """A reader's name, figures and relations to the viewer.

    ``followers`` and ``following`` count the readers whom the lists show to the viewer. If the viewer has blocked the
    reader, only the name, ``is_blocked`` and ``is_muted`` are filled in.
    """

    id: int
    name: str
    viewer: int | None = None
    posts: int = 0
    followers: int = 0
    following: int = 0
    viewer_follows: int = 0  # number of readers that the viewer follows
    is_following: bool = False  # the viewer follows this reader
    follows_me: bool = False
    is_muted: bool = False
    is_blocked: bool = False
    is_private: bool = False
    avatar: str = ""  # the name of the picture
    is_locked: bool = False  # private, and the viewer is not approved: only the name is filled in
    is_requested: bool = False  # the viewer has requested to follow

    @property
    def is_me(self) -> bool:
        """Return whether the viewer views their own profile."""
        return self.id == self.viewer

    @property
    def url(self) -> str:
        """Return the address of the reader's page."""
        return make_public_path(self.name)


class BlockState(NamedTuple):
    """The mute and the blocks between a viewer and another reader."""

    is_muted: bool
    is_blocked: bool
    is_blocking: bool  # the other reader has blocked the viewer


NO_BLOCK_OR_MUTE: Final = BlockState(False, False, False)


class _Relation(NamedTuple):
    """What follows, mutes and blocks connect a viewer with another reader."""

    viewer_follows: int = 0  # number of readers that the viewer follows
    is_following: bool = False
    follows_me: bool = False
    is_blocked_or_muted: bool = False  # a mute or block exists between the two
    shuns: int = 0  # number of mutes and blocks of the viewer, and of readers that have blocked the viewer


def get_profile_by_name(name: str, viewer: int | None = None) -> Profile | None:
    """Return the profile of the reader with this name in any spelling.

    None if the reader does not exist, is inactive or has blocked the viewer. A warm mirror answers in 2 round trips;
    SQL is asked only about mutes and blocks of the viewer.
    """
    user_id = find_user_id(name)
    return None if user_id is None else get_profile(user_id, viewer)


def get_profile(user_id: int, viewer: int | None = None) -> Profile | None:
    """Return the profile of the reader with this id, in 1 round trip from a warm mirror.

    None if the reader does not exist, is inactive or has blocked the viewer.
    """
    with mirror.together() as reads:
        user = reads(users.UserMirror.get, user_id)
        posts = reads(PostMirror.count, keys.posts_of(user_id))
        followers = reads(FollowMirror.count, keys.followers(user_id))
        following = reads(FollowMirror.count, keys.following(user_id))
        relation = reads(_read_relation, viewer, user_id)
        hidden = reads(RatedPostMirror.count, keys.hidden_ratings(user_id))
    if user.value is None or user.value["is_active"] != "1":
        return None
    found = relation.value
    state = read_block_state(viewer or 0, user_id) if found.is_blocked_or_muted else NO_BLOCK_OR_MUTE
    # SQL has the last word: a set in Redis does not tell a block from a mute.
    if state.is_blocking:
        return None
    profile = Profile(user_id, user.value["name"], viewer, is_blocked=state.is_blocked, is_muted=state.is_muted)
    if state.is_blocked:
        return profile
    profile = replace(profile, avatar=user.value["avatar"])
    if user.value["is_private"] == "1":
        profile = replace(profile, is_private=True, follows_me=found.follows_me)
        if not find_approved(viewer, [user_id]):
            return replace(profile, is_locked=True, is_requested=_is_requested(viewer, user_id))
    profile = replace(
        profile,
        posts=max(0, posts.value - hidden.value),
        followers=followers.value,
        following=following.value,
        viewer_follows=found.viewer_follows,
        is_following=found.is_following,
        follows_me=found.follows_me,
    )
    return _leave_out_hidden(profile) if found.shuns else profile


def _read_relation(viewer: int | None, user_id: int) -> _Relation:
    if viewer is None:
        return _Relation()
    with mirror.together() as reads:
        viewer_follows = reads(FollowMirror.count, keys.following(viewer))
        followed = reads(FollowMirror.filter_members, keys.following(viewer), [user_id])
        follower = reads(FollowMirror.filter_members, keys.followers(viewer), [user_id])
        block_or_mute = reads(ShunMirror.filter_members, keys.shuns(viewer), [user_id])
        shuns = reads(ShunMirror.count, keys.shuns(viewer))
    return _Relation(
        viewer_follows.value, bool(followed.value), bool(follower.value), bool(block_or_mute.value), shuns.value
    )


def _is_requested(viewer: int | None, user_id: int) -> bool:
    """Return whether the viewer has requested to follow a reader, from SQL; False while it is away."""
    requests = FollowRequest.objects.using(setting("DATABASE")).filter(follower_id=viewer, followee_id=user_id)
    try:
        return requests.exists()
    except SQL_AWAY:
        return False


def _leave_out_hidden(profile: Profile) -> Profile:
    """Subtract the readers whom the lists of followers and followed readers hide from the viewer (2 queries).

    The own lists hide nobody: a block removes the follows, and muted readers are shown.
    """
    if not profile.viewer or profile.is_me:
        return profile
    hidden, follows = select_blocked_and_muted(profile.viewer), Follow.objects.using(setting("DATABASE"))
    try:
        followers = follows.filter(followee_id=profile.id, follower__in=hidden, follower__is_active=True).count()
        following = follows.filter(follower_id=profile.id, followee__in=hidden, followee__is_active=True).count()
    except SQL_AWAY:
        return profile
    return replace(profile, followers=profile.followers - followers, following=profile.following - following)


def read_block_state(viewer: int, user_id: int) -> BlockState:
    """Return the mute and the blocks between two readers from SQL.

    While SQL is away, ``user_id`` counts as blocking.
    """
    database = setting("DATABASE")
    blocks = Block.objects.using(database)
    try:
        return BlockState(
            Mute.objects.using(database).filter(user_id=viewer, muted_id=user_id).exists(),
            blocks.filter(blocker_id=viewer, blocked_id=user_id).exists(),
            blocks.filter(blocker_id=user_id, blocked_id=viewer).exists(),
        )
    except SQL_AWAY:
        return BlockState(False, False, is_blocking=True)


def queue_people(pipe: RedisPipeline, viewer: int, ids: Sequence[int]) -> None:
    """Queue the commands of ``find_people`` for the search, which sends them with its own. Queue none without ids."""
    for pk in ids:
        pipe.hmget(accounts_keys.login(pk), USER_FIELDS)
    if ids:
        pipe.smismember(keys.shuns(viewer), list(map(str, ids)))


def parse_people(ids: Sequence[int], replies: Sequence[Any]) -> list[Person]:
    """Return the same readers as ``find_people`` from the replies to ``queue_people``."""
    if not ids:
        return []
    *records, blocked_and_muted = replies
    found = zip(ids, records, blocked_and_muted, strict=True)
    return [
        Person(pk, name.decode(), (avatar or b"").decode())
        for pk, (name, is_active, avatar), is_blocked_or_muted in found
        if is_active == b"1" and not is_blocked_or_muted
    ]


def find_people(viewer: int, ids: Sequence[int]) -> list[Person]:
    """Return the readers that the viewer may see, in the order of ``ids``.

    Inactive, muted, blocked and blocking readers are left out. Takes 1 round trip or 2 queries.
    """
    with mirror.together() as reads:
        records = reads(users.UserMirror.get_many, ids)
        blocked_and_muted = reads(find_blocked_and_muted, viewer, ids)
    return [
        Person(pk, user["name"], user["avatar"])
        for pk, user in records.value.items()
        if user["is_active"] == "1" and pk not in blocked_and_muted.value
    ]
