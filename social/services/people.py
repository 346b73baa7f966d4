"""Services for follows, blocks and mutes.

Each service is idempotent and returns whether it changed anything. Two services on the same pair of readers never run
at the same time, so no follow survives a block. On PostgreSQL each takes a lock on the pair before it reads. A follow,
which counts the follower's follows, first takes a lock on the follower; the fixed order prevents deadlocks. On SQLite
a transaction excludes other writers from its beginning.
"""

from collections.abc import Generator
from contextlib import contextmanager

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from catalog.lists import services as lists
from catalog.shelves import services as shelves
from common.database import repeat_after_conflict
from common.refusals import Refused
from social.models import Block, Follow, FollowRequest, Mute


class ActionRefused(Refused):
    """A follow, a block or a mute was refused."""


class SelfTarget(ActionRefused):
    """Readers cannot follow, block or mute themselves."""

    message = _("You cannot do this to yourself.")


class NoSuchPerson(ActionRefused):
    """No active user has that id."""

    message = _("Reader not found.")


class BlockedByThem(NoSuchPerson):
    """The target has blocked the reader. The message is that of NoSuchPerson, so that it does not reveal the block."""


class BlockedByYou(ActionRefused):
    """The reader has blocked the target and so cannot follow them."""

    message = _("You have blocked this reader. Unblock them first.")


class NoSuchRequest(ActionRefused):
    """The reader has withdrawn the request to follow, or the account's owner has declined it."""

    message = _("This follow request does not exist any more.")


class FollowsTooMany(ActionRefused):
    """The reader already follows ``settings.FOLLOW_LIMIT`` others."""

    def __str__(self) -> str:
        return str(_("You follow %(count)s people, which is the maximum. Unfollow someone first.")) % {
            "count": f"{settings.FOLLOW_LIMIT:,}"
        }


@repeat_after_conflict
def follow(user_id: int, target_id: int) -> bool:
    """Follow the reader ``target_id``, or request it of a private account. Return False if either already exists.

    Raises SelfTarget, NoSuchPerson, BlockedByThem, BlockedByYou, FollowsTooMany.
    """
    _check_different(user_id, target_id)
    with _exclusive_transaction(f"follows:{user_id}", _pair_lock_name(user_id, target_id)):
        # After the locks: a block or a deletion that was committed while this waited must be seen.
        _check_active(user_id, target_id)
        if is_blocked(target_id, user_id):
            raise BlockedByThem
        if is_blocked(user_id, target_id):
            raise BlockedByYou
        mine = Follow.objects.filter(follower_id=user_id)
        if mine.filter(followee_id=target_id).exists():
            return False
        requests = FollowRequest.objects.filter(follower_id=user_id)
        if mine.count() + requests.exclude(followee_id=target_id).count() >= settings.FOLLOW_LIMIT:
            raise FollowsTooMany
        if User.objects.filter(pk=target_id, is_private=True).exists():
            return FollowRequest.objects.get_or_create(follower_id=user_id, followee_id=target_id)[1]
        # From when the account was private
        requests.filter(followee_id=target_id).delete()
        # An import takes no lock, so the follow may exist by now. Then it is not new.
        return Follow.objects.get_or_create(follower_id=user_id, followee_id=target_id)[1]


@repeat_after_conflict
def unfollow(user_id: int, target_id: int) -> bool:
    """Remove a follow or the request for it. Return False if neither exists."""
    edge = Q(follower_id=user_id, followee_id=target_id)
    with transaction.atomic():
        requests, _models = FollowRequest.objects.filter(edge).delete()
        follows, _models = Follow.objects.filter(edge).delete()
    return bool(requests or follows)


def remove_follower(user_id: int, follower_id: int) -> bool:
    """End that ``follower_id`` follows the reader, or decline the request. Return False if neither exists."""
    return unfollow(follower_id, user_id)


@repeat_after_conflict
def accept_follower(user_id: int, follower_id: int) -> bool:
    """Accept a follow request. Return False if the reader follows already. Raises NoSuchPerson, NoSuchRequest."""
    with _exclusive_transaction(f"follows:{follower_id}", _pair_lock_name(user_id, follower_id)):
        _check_active(user_id, follower_id)
        # The request counted towards the limit of follows, so the follow does not exceed it.
        request = FollowRequest.objects.filter(follower_id=follower_id, followee_id=user_id)
        if request.delete()[0]:
            return Follow.objects.get_or_create(follower_id=follower_id, followee_id=user_id)[1]
        # The second of two clicks
        if Follow.objects.filter(follower_id=follower_id, followee_id=user_id).exists():
            return False
        raise BlockedByThem if is_blocked(follower_id, user_id) else NoSuchRequest


def is_requested(user_id: int, target_id: int) -> bool:
    """Return whether the first user has requested to follow the second, from SQL."""
    return FollowRequest.objects.filter(follower_id=user_id, followee_id=target_id).exists()


@repeat_after_conflict
def set_private(user_id: int, *, is_private: bool) -> None:
    """Make an account private or public. The followers stay, and requests wait for a decision as before.

    When an account becomes private, shelves and lists that everyone saw are limited to followers. They stay so
    afterwards.
    """
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user_id)
        if user.is_private == is_private:
            return
        user.is_private = is_private
        # Not ``update``: the signals of ``save`` bring it to Redis at once.
        user.save(update_fields=["is_private"])
        if is_private:
            shelves.limit_to_followers(user_id)
            lists.limit_to_followers(user_id)


@repeat_after_conflict
def block(user_id: int, target_id: int) -> bool:
    """Block a reader and remove the follows between the two. Return False if the block already exists.

    A blocked reader may block the other as well; otherwise only the other could end the separation. Raises SelfTarget,
    NoSuchPerson.
    """
    _check_different(user_id, target_id)
    with _exclusive_transaction(_pair_lock_name(user_id, target_id)):
        _check_active(user_id, target_id)
        # Also when the block exists: imported follows may cross it, and blocking again removes them.
        is_new = Block.objects.get_or_create(blocker_id=user_id, blocked_id=target_id)[1]
        one_way = Q(follower_id=user_id, followee_id=target_id)
        either_way = one_way | Q(follower_id=target_id, followee_id=user_id)
        Follow.objects.filter(either_way).delete()
        FollowRequest.objects.filter(either_way).delete()
        return is_new


def unblock(user_id: int, target_id: int) -> bool:
    """Remove a block without restoring follows. Return False if the block does not exist."""
    return bool(Block.objects.filter(blocker_id=user_id, blocked_id=target_id).delete()[0])


@repeat_after_conflict
def mute(user_id: int, target_id: int) -> bool:
    """Mute a reader without notifying them. Return False if the mute already exists.

    Raises SelfTarget, NoSuchPerson, BlockedByThem.
    """
    _check_different(user_id, target_id)
    with _exclusive_transaction(_pair_lock_name(user_id, target_id)):
        _check_active(user_id, target_id)
        if is_blocked(target_id, user_id):
            raise BlockedByThem
        return Mute.objects.get_or_create(user_id=user_id, muted_id=target_id)[1]


def unmute(user_id: int, target_id: int) -> bool:
    """Remove a mute. Return False if it does not exist."""
    return bool(Mute.objects.filter(user_id=user_id, muted_id=target_id).delete()[0])


def is_blocked(blocker_id: int, blocked_id: int) -> bool:
    """Return whether the first user has blocked the second, from SQL."""
    return Block.objects.filter(blocker_id=blocker_id, blocked_id=blocked_id).exists()


@contextmanager
def _exclusive_transaction(*names: str) -> Generator[None, None, None]:
    """Run a transaction that holds an exclusive lock for each of these names, taken in their order.

    A follow checks for blocks and a block removes follows: without a lock on the pair each could miss the other. Locks
    on the rows of the users would queue all followers of one author. On SQLite every transaction is exclusive.

    Raises NoSuchPerson if one of the users was deleted meanwhile, which SQL may detect only at the commit.
    """
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    # The callers pass the follower's lock before the pair's, so that no two of them wait for each
                    # other.
                    for name in names:
                        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"social:{name}"])
            yield
    # Foreign keys are checked at the commit, where a user may turn out to be deleted.
    except IntegrityError as error:
        raise NoSuchPerson from error


def _pair_lock_name(one: int, other: int) -> str:
    return f"pair:{min(one, other)}:{max(one, other)}"


def _check_different(user_id: int, target_id: int) -> None:
    if user_id == target_id:
        raise SelfTarget


def _check_active(*user_ids: int) -> None:
    if User.objects.filter(pk__in=user_ids, is_active=True).count() < len(user_ids):
        raise NoSuchPerson
