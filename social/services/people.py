"""Who follows whom, and who would rather not see whom.

Each of these is done once however often it is asked for, and says whether it changed anything. Two of them about the
same two people never run at the same time: on PostgreSQL each takes a lock on the pair before it looks (and a follow,
which counts, one on the follower before that: always in this order, so that nobody waits for one who waits for them);
on SQLite a transaction is alone from its beginning. So no follow is ever left across a block.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from social.models import Block, Follow, Mute


class Refused(Exception):
    """It was not done. As text: why, in the reader's language."""

    message: ClassVar[str | Promise] = _("That cannot be done.")

    def __str__(self) -> str:
        return str(self.message)


class Oneself(Refused):
    """Nobody follows, blocks or mutes themselves."""

    message = _("You cannot do that to yourself.")


class NoSuchPerson(Refused):
    """There is nobody with that id, or they are not active."""

    message = _("There is no such person.")


class BlockedByThem(NoSuchPerson):
    """Who blocked somebody is not there for them, and this says the same."""


class BlockedByYou(Refused):
    """Nobody follows whom they block."""

    message = _("You have blocked this person. Unblock them first.")


class FollowsTooMany(Refused):
    """Nobody follows more than ``settings.FOLLOW_LIMIT``."""

    def __str__(self) -> str:
        return str(_("You follow %(count)s people, and more are not possible. Unfollow somebody first.")) % {
            "count": f"{settings.FOLLOW_LIMIT:,}"
        }


def follow(user_id: int, target_id: int) -> bool:
    """Want to read what ``target_id`` posts. False: they are followed already.

    Raises Oneself, NoSuchPerson, BlockedByThem, BlockedByYou, FollowsTooMany.
    """
    _must_differ(user_id, target_id)
    with _alone(f"follows:{user_id}", _pair(user_id, target_id)):
        _must_be_here(user_id, target_id)
        if is_blocked(target_id, user_id):
            raise BlockedByThem
        if is_blocked(user_id, target_id):
            raise BlockedByYou
        mine = Follow.objects.filter(follower_id=user_id)
        if mine.filter(followee_id=target_id).exists():
            return False
        if mine.count() >= settings.FOLLOW_LIMIT:
            raise FollowsTooMany
        return Follow.objects.get_or_create(follower_id=user_id, followee_id=target_id)[1]


def unfollow(user_id: int, target_id: int) -> bool:
    """No longer. False: they were not followed."""
    return bool(Follow.objects.filter(follower_id=user_id, followee_id=target_id).delete()[0])


def block(user_id: int, target_id: int) -> bool:
    """Neither sees the other any more, and neither follows the other. False: they are blocked already.

    Who was blocked may block as well, or unblocking would be up to the other alone. Raises Oneself, NoSuchPerson.
    """
    _must_differ(user_id, target_id)
    with _alone(_pair(user_id, target_id)):
        _must_be_here(user_id, target_id)
        is_new = Block.objects.get_or_create(blocker_id=user_id, blocked_id=target_id)[1]
        one_way = Q(follower_id=user_id, followee_id=target_id)
        Follow.objects.filter(one_way | Q(follower_id=target_id, followee_id=user_id)).delete()
        return is_new


def unblock(user_id: int, target_id: int) -> bool:
    """See one another again; who followed whom is not brought back. False: they were not blocked."""
    return bool(Block.objects.filter(blocker_id=user_id, blocked_id=target_id).delete()[0])


def mute(user_id: int, target_id: int) -> bool:
    """Do not see what they post; they are not told. False: they are muted already.

    Raises Oneself, NoSuchPerson, BlockedByThem.
    """
    _must_differ(user_id, target_id)
    with _alone(_pair(user_id, target_id)):
        _must_be_here(user_id, target_id)
        if is_blocked(target_id, user_id):
            raise BlockedByThem
        return Mute.objects.get_or_create(user_id=user_id, muted_id=target_id)[1]


def unmute(user_id: int, target_id: int) -> bool:
    """See it again. False: they were not muted."""
    return bool(Mute.objects.filter(user_id=user_id, muted_id=target_id).delete()[0])


def is_blocked(blocker_id: int, blocked_id: int) -> bool:
    """Whether the first blocked the second, as SQL says now."""
    return Block.objects.filter(blocker_id=blocker_id, blocked_id=blocked_id).exists()


@contextmanager
def _alone(*names: str) -> Generator[None, None, None]:
    """A transaction in which nobody else does anything under one of these names. Locks are taken in their order.

    Raises NoSuchPerson when one of the people was deleted meanwhile, which SQL may find out only at the commit.
    """
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    for name in names:
                        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"social:{name}"])
            yield
    except IntegrityError as error:
        raise NoSuchPerson from error


def _pair(one: int, other: int) -> str:
    return f"pair:{min(one, other)}:{max(one, other)}"


def _must_differ(user_id: int, target_id: int) -> None:
    if user_id == target_id:
        raise Oneself


def _must_be_here(*user_ids: int) -> None:
    if User.objects.filter(pk__in=user_ids, is_active=True).count() < len(user_ids):
        raise NoSuchPerson
