"""Profiles and names of readers as a viewer may see them, from Redis or, with the same answer, from SQL.

``viewer`` is the id of the reader that views the page; None means a visitor without a login.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from django.db.models import QuerySet

from accounts import keys as accounts_keys
from accounts.models import User
from accounts.names import make_public_path
from accounts.selectors import find_user_id
from mirror.conf import setting
from mirror.read import read
from mirror.redis import RedisPipeline
from mirror.utils import SQL_AWAY
from social import keys
from social.models import Block, Follow, Mute, Post
from social.relations.blocks import find_blocked_and_muted

USER_FIELDS: Final = ("name", "is_active")  # of the user mirror's record


class Person(NamedTuple):
    """A reader that the viewer may see."""

    id: int
    name: str

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


class _Figures(NamedTuple):
    """Fields of ``Profile`` in the order of the commands in ``_ask``."""

    posts: int
    followers: int
    following: int
    viewer_follows: int
    is_following: int
    follows_me: int


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
    reading = read(["user", "post", "follow", "shun"], lambda pipe: _queue_profile(pipe, user_id, viewer))
    if reading is None:
        return _read_from_sql(user_id, viewer)
    (name, is_active), *found, is_shunned, shunned = reading.replies
    if is_active != b"1":
        return None
    shun = read_block_state(viewer or 0, user_id) if is_shunned else NO_BLOCK_OR_MUTE
    profile = _limit_to_viewer(user_id, name.decode(), viewer, shun, _Figures(*found))
    return _leave_out_hidden(profile) if shunned else profile


def _queue_profile(pipe: RedisPipeline, user_id: int, viewer: int | None) -> None:
    """Queue a fixed number of commands. Without a viewer, the commands about the viewer name user 0."""
    me = viewer or 0
    pipe.hmget(accounts_keys.login(user_id), USER_FIELDS)
    pipe.zcard(keys.posts_of(user_id))
    pipe.scard(keys.followers(user_id))
    pipe.scard(keys.following(user_id))
    pipe.scard(keys.following(me))
    pipe.sismember(keys.following(me), str(user_id))
    pipe.sismember(keys.followers(me), str(user_id))
    pipe.sismember(keys.shuns(me), str(user_id))
    pipe.scard(keys.shuns(me))


def _read_from_sql(user_id: int, viewer: int | None) -> Profile | None:
    database, me = setting("DATABASE"), viewer or 0
    name = User.objects.using(database).filter(pk=user_id, is_active=True).values_list("username", flat=True).first()
    if name is None:
        return None
    follows = Follow.objects.using(database)
    found = _Figures(
        Post.objects.using(database).shown().filter(user_id=user_id).count(),
        _count_active(follows.filter(followee_id=user_id), "follower_id"),
        _count_active(follows.filter(follower_id=user_id), "followee_id"),
        _count_active(follows.filter(follower_id=me), "followee_id"),
        follows.filter(follower_id=me, followee_id=user_id).exists(),
        follows.filter(follower_id=user_id, followee_id=me).exists(),
    )
    return _leave_out_hidden(_limit_to_viewer(user_id, name, viewer, read_block_state(me, user_id), found))


def _leave_out_hidden(profile: Profile | None) -> Profile | None:
    """Subtract the readers whom the lists of followers and followed readers hide from the viewer (2 queries).

    The own lists hide nobody: a block removes the follows, and muted readers are shown.
    """
    if profile is None or not profile.viewer or profile.is_me or profile.is_blocked:
        return profile
    database, me = setting("DATABASE"), profile.viewer
    blocks = Block.objects.using(database)
    # A union, because PostgreSQL would compare every follow of the reader with each part of an "or".
    hidden = (
        blocks.filter(blocker_id=me)
        .values("blocked_id")
        .union(
            blocks.filter(blocked_id=me).values("blocker_id"),
            Mute.objects.using(database).filter(user_id=me).values("muted_id"),
        )
    )
    follows = Follow.objects.using(database)
    try:
        followers = follows.filter(followee_id=profile.id, follower__in=hidden, follower__is_active=True).count()
        following = follows.filter(follower_id=profile.id, followee__in=hidden, followee__is_active=True).count()
    except SQL_AWAY:
        return profile
    return replace(profile, followers=profile.followers - followers, following=profile.following - following)


def _count_active(rows: QuerySet[Follow], who: str) -> int:
    """Return the number of rows with an active user in the column ``who``.

    An index scan counts all rows; the few with inactive users are then subtracted.
    """
    gone = User.objects.using(setting("DATABASE")).filter(is_active=False).values("pk")
    return rows.count() - rows.filter(**{f"{who}__in": gone}).count()


def _limit_to_viewer(user_id: int, name: str, viewer: int | None, shun: BlockState, found: _Figures) -> Profile | None:
    """Return the part of the profile that the viewer may see; None if the reader has blocked the viewer."""
    if shun.is_blocking:
        return None
    if shun.is_blocked:
        return Profile(user_id, name, viewer, is_blocked=True, is_muted=shun.is_muted)
    figures = found._asdict() | {"is_following": bool(found.is_following), "follows_me": bool(found.follows_me)}
    return Profile(user_id, name, viewer, **figures, is_muted=shun.is_muted)


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
    """Queue one command per id for the records, and one for mutes and blocks. Queue nothing without ids."""
    for pk in ids:
        pipe.hmget(accounts_keys.login(pk), USER_FIELDS)
    if ids:
        pipe.smismember(keys.shuns(viewer), list(map(str, ids)))


def parse_people(ids: Sequence[int], replies: Sequence[Any]) -> list[Person]:
    """Return the readers that the viewer may see, in the order of ``ids``, from replies to ``queue_people``.

    Inactive, muted, blocked and blocking readers are left out.
    """
    if not ids:
        return []
    *records, shunned = replies
    found = zip(ids, records, shunned, strict=True)
    return [
        Person(pk, name.decode()) for pk, (name, is_active), is_shunned in found if is_active == b"1" and not is_shunned
    ]


def find_people_in_sql(viewer: int, ids: Sequence[int]) -> list[Person]:
    """Return the same readers as ``parse_people`` from SQL, in a fixed number of queries."""
    found = User.objects.using(setting("DATABASE")).filter(pk__in=ids, is_active=True)
    names: Mapping[int, str] = dict(found.values_list("pk", "username"))
    shunned = find_blocked_and_muted(viewer, names)
    return [Person(pk, names[pk]) for pk in ids if pk in names and pk not in shunned]
