"""Suspend users and lift suspensions.

A suspended user is inactive: sessions end and posts disappear. The row of the suspension alone tells that the account
is to be active again. Each service locks the user's row first, as the deletion of accounts does, so that no suspension
that ends revives an account that is to be deleted.
"""

from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.models import AccountDeletion, Suspension, User
from accounts.sessions.services import end_all_sessions
from common import clock
from common.database import SLICE_SIZE, repeat_after_conflict
from mirror.utils import SQL_AWAY


class AccountInactive(Exception):
    """The account is inactive for another reason, and the end of a suspension must not activate it."""


@repeat_after_conflict
def suspend_user(user_id: int, ends_at: datetime, *, notice: str, began_at: datetime | None = None) -> None:
    """Deactivate a user until ``ends_at`` and end all sessions. A new suspension replaces one that runs.

    The start stays that of the first of them. notice: the path of the page with the reasons. began_at: None for now.
    Raises AccountInactive, User.DoesNotExist.
    """
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user_id)
        is_running = not user.is_active and _is_suspended(user_id)
        is_explained = user.is_active or is_running or _is_to_be_deleted(user_id)
        if not is_explained:
            raise AccountInactive
        fields: dict[str, Any] = {"ends_at": ends_at, "notice": notice}
        if not is_running:
            fields["began_at"] = began_at or clock.now()
        Suspension.objects.update_or_create(user=user, defaults=fields)
        if user.is_active:
            user.is_active = False
            # Not ``update``: the signals of ``save`` bring it to Redis at once.
            user.save(update_fields=["is_active"])
            end_all_sessions(user)


def find_suspension(user: User) -> Suspension | None:
    """Return the suspension of an inactive user, or None."""
    if user.is_active or not hasattr(user, "suspension"):
        return None
    found: Suspension = user.suspension
    return found


def is_suspended(user_id: int) -> bool:
    """Return whether a user is suspended; False also while SQL is away. 1 query."""
    try:
        # Staff may have reactivated a user before the end of the suspension.
        return Suspension.objects.filter(user=user_id, user__is_active=False).exists()
    except SQL_AWAY:
        return False


def lift_suspension(user_id: int, *, notice: str | None = None) -> bool:
    """End a suspension before its time. Return False if the user is not suspended.

    notice: end only the suspension with these reasons, and not a later one.
    """
    return _lift(user_id, **({} if notice is None else {"notice": notice}))


def lift_due_suspensions() -> int:
    """End the suspensions that are over, at most a slice of them. Return their number."""
    # Staff reactivated these users: a later deactivation must not end with the suspension.
    Suspension.objects.filter(user__is_active=True).delete()
    now = clock.now()
    due = Suspension.objects.filter(ends_at__lte=now).order_by("ends_at").values_list("pk", flat=True)
    return sum(_lift(user_id, ends_at__lte=now) for user_id in list(due[:SLICE_SIZE]))


@repeat_after_conflict
def _lift(user_id: int, **condition: Any) -> bool:
    """Delete the suspension of a user, and activate the user. Return whether there was one with this condition."""
    with transaction.atomic():
        user = User.objects.select_for_update().filter(pk=user_id).first()
        if user is None or not Suspension.objects.filter(user=user_id, **condition).delete()[0]:
            return False
        if not user.is_active and not _is_to_be_deleted(user_id):
            user.is_active = True
            user.save(update_fields=["is_active"])
    return True


def _is_suspended(user_id: int) -> bool:
    return Suspension.objects.filter(user=user_id).exists()


def _is_to_be_deleted(user_id: int) -> bool:
    return AccountDeletion.objects.filter(user=user_id).exists()
