"""Reading people: who somebody is to whoever looks, from Redis or, with the same answer, from SQL.

viewer: the id of who looks; None: a stranger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.db.models import QuerySet

from accounts import keys as accounts_keys
from accounts.models import User
from accounts.names import page_of
from accounts.selectors import user_id_of
from mirror.conf import setting
from mirror.read import read
from mirror.sql_away import SQL_AWAY
from social import keys, shuns
from social.models import Block, Follow, Mute, Post

FIELDS: Final = ("name", "is_active")  # of a user's record


class Person(NamedTuple):
    """Somebody who may be named to whoever looks."""

    id: int
    name: str

    @property
    def url(self) -> str:
        """The address of their page; "" where the name can stand in none."""
        return page_of(self.name)


@dataclass(frozen=True)
class Profile:
    """Somebody, and what they are to whoever looks. Of whom the viewer blocked nothing but the name is told."""

    id: int
    name: str
    viewer: int | None = None
    posts: int = 0
    followers: int = 0
    following: int = 0
    viewer_follows: int = 0  # people
    is_following: bool = False  # the viewer follows them
    follows_me: bool = False
    is_muted: bool = False
    is_blocked: bool = False

    @property
    def is_me(self) -> bool:
        """Whether somebody looks at themselves."""
        return self.id == self.viewer

    @property
    def url(self) -> str:
        """The address of their page."""
        return page_of(self.name)


class Shun(NamedTuple):
    """Why one does not see another."""

    is_muted: bool
    is_blocked: bool
    is_blocking: bool  # the other blocked the one


NOTHING_BETWEEN: Final = Shun(False, False, False)


class _Figures(NamedTuple):
    """As Profile has them, in the order in which they are asked for."""

    posts: int
    followers: int
    following: int
    viewer_follows: int
    is_following: int
    follows_me: int


def profile(name: str, viewer: int | None = None) -> Profile | None:
    """Who has this name, in whatever spelling; None: nobody, or not for this viewer.

    From a warm mirror: 2 round trips and no SQL, unless there is something between the two.
    """
    user_id = user_id_of(name)
    return None if user_id is None else profile_of(user_id, viewer)


def profile_of(user_id: int, viewer: int | None = None) -> Profile | None:
    """Who has this id; None: nobody who is active, or not for this viewer. From a warm mirror: 1 round trip."""
    reading = read(["user", "post", "follow", "shun"], lambda pipe: _ask(pipe, user_id, viewer))
    if reading is None:
        return _by_sql(user_id, viewer)
    (name, is_active), *found, is_shunned = reading.replies
    if is_active != b"1":
        return None
    shun = shun_between(viewer or 0, user_id) if is_shunned else NOTHING_BETWEEN
    return _shown(user_id, name.decode(), viewer, shun, _Figures(*found))


def _ask(pipe: Any, user_id: int, viewer: int | None) -> None:
    """A fixed number of commands: for a stranger those about the viewer ask about nobody."""
    me = viewer or 0
    pipe.hmget(accounts_keys.login(user_id), FIELDS)
    pipe.zcard(keys.posts_of(user_id))
    pipe.scard(keys.followers(user_id))
    pipe.scard(keys.following(user_id))
    pipe.scard(keys.following(me))
    pipe.sismember(keys.following(me), str(user_id))
    pipe.sismember(keys.followers(me), str(user_id))
    pipe.sismember(keys.shuns(me), str(user_id))


def _by_sql(user_id: int, viewer: int | None) -> Profile | None:
    database, me = setting("DATABASE"), viewer or 0
    name = User.objects.using(database).filter(pk=user_id, is_active=True).values_list("username", flat=True).first()
    if name is None:
        return None
    follows = Follow.objects.using(database)
    found = _Figures(
        Post.objects.using(database).shown().filter(user_id=user_id).count(),
        _count(follows.filter(followee_id=user_id), "follower_id"),
        _count(follows.filter(follower_id=user_id), "followee_id"),
        _count(follows.filter(follower_id=me), "followee_id"),
        follows.filter(follower_id=me, followee_id=user_id).exists(),
        follows.filter(follower_id=user_id, followee_id=me).exists(),
    )
    return _shown(user_id, name, viewer, shun_between(me, user_id), found)


def _count(rows: QuerySet[Follow], who: str) -> int:
    """How many of these are active: all are counted, from the index alone, and the few who are not are taken off."""
    gone = User.objects.using(setting("DATABASE")).filter(is_active=False).values("pk")
    return rows.count() - rows.filter(**{f"{who}__in": gone}).count()


def _shown(user_id: int, name: str, viewer: int | None, shun: Shun, found: _Figures) -> Profile | None:
    """As much of it as the viewer is to see."""
    if shun.is_blocking:
        return None
    if shun.is_blocked:
        return Profile(user_id, name, viewer, is_blocked=True, is_muted=shun.is_muted)
    figures = found._asdict() | {"is_following": bool(found.is_following), "follows_me": bool(found.follows_me)}
    return Profile(user_id, name, viewer, **figures, is_muted=shun.is_muted)


def shun_between(viewer: int, user_id: int) -> Shun:
    """What keeps one from seeing another, as SQL says. While SQL is away, the other counts as blocking."""
    database = setting("DATABASE")
    blocks = Block.objects.using(database)
    try:
        return Shun(
            Mute.objects.using(database).filter(user_id=viewer, muted_id=user_id).exists(),
            blocks.filter(blocker_id=viewer, blocked_id=user_id).exists(),
            blocks.filter(blocker_id=user_id, blocked_id=viewer).exists(),
        )
    except SQL_AWAY:
        return Shun(False, False, is_blocking=True)


def ask_people(pipe: Any, viewer: int, ids: Sequence[int]) -> None:
    """Ask who these are, and whom of them the viewer does not see: one command for each, and one (none for nobody)."""
    for pk in ids:
        pipe.hmget(accounts_keys.login(pk), FIELDS)
    if ids:
        pipe.smismember(keys.shuns(viewer), list(map(str, ids)))


def read_people(ids: Sequence[int], replies: Sequence[Any]) -> list[Person]:
    """Those of them who are active and not shunned, in their order."""
    if not ids:
        return []
    *records, shunned = replies
    found = zip(ids, records, shunned, strict=True)
    return [
        Person(pk, name.decode()) for pk, (name, is_active), is_shunned in found if is_active == b"1" and not is_shunned
    ]


def people_by_sql(viewer: int, ids: Sequence[int]) -> list[Person]:
    """The same from SQL, in a fixed number of queries."""
    found = User.objects.using(setting("DATABASE")).filter(pk__in=ids, is_active=True)
    names: Mapping[int, str] = dict(found.values_list("pk", "username"))
    shunned = shuns.among(viewer, names)
    return [Person(pk, names[pk]) for pk in ids if pk in names and pk not in shunned]
