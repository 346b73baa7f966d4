"""Delete accounts: the owner requests it, and a task carries it out after a grace period.

The account is deactivated at once, so the user is not visible any more, and its row keeps the name reserved. After the
grace period a periodic task erases each registered part (``accounts.personal``) slice by slice, then the user's row.
Every slice is one transaction and can be repeated, so the next run continues a killed one. The owner may cancel the
request during the grace period, and not later: some data may already be gone. A deletion that staff decided with a
notice ends only with the reversal of this decision, and an appeal holds it.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import make_password
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest
from redis.exceptions import RedisError

from accounts import suspension
from accounts.mail import outgoing
from accounts.models import AccountDeletion, EmailChange, User
from accounts.personal import registry
from accounts.sessions.services import end_all_sessions
from common import clock
from common.database import repeat_after_conflict
from mirror.relay import Deadline

logger = logging.getLogger("accounts")


class Backend(ModelBackend):
    """Django's backend, which also accepts inactive users whom the login page answers.

    It offers users in the grace period to keep their account, and shows suspended users the reasons.

    It is the only backend that checks passwords. Django's own stays in the settings for the sessions that name it.
    """

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> Any:
        """Return the user. Raises PermissionDenied on failure, so that no other backend hashes the password again."""
        if username is None or password is None:
            raise PermissionDenied
        try:
            user = User.objects.get_by_login(username)
        except User.DoesNotExist:
            # The check of this password takes as long as that of a wrong one, so the time does not reveal which names
            # exist.
            user = User(password=make_password(None))
        if not (user.check_password(password) and self.user_can_authenticate(user)):
            raise PermissionDenied
        return user

    def user_can_authenticate(self, user: Any) -> bool:
        is_known = get_due_time(user) is not None or suspension.find_suspension(user) is not None
        return super().user_can_authenticate(user) or is_known

    def get_user(self, user_id: Any) -> Any:
        user = super().get_user(user_id)
        return user if user and user.is_active else None


@repeat_after_conflict
def request_deletion(user: User, *, by_staff: bool = False, notice: str = "") -> datetime:
    """Deactivate ``user``, end all sessions and schedule the deletion. Return the time at which it is due.

    by_staff: whether staff requested it, which the email states. notice: the path of the page with the reasons of a
    decision, about which its own email tells the user.
    """
    now = clock.now()
    due = now + timedelta(days=settings.ACCOUNT_DELETION_DAYS)
    with transaction.atomic():
        row = User.objects.select_for_update().get(pk=user.pk)
        fields = {"asked_at": now, "due_at": due, "notice": notice, "is_held": False}
        AccountDeletion.objects.update_or_create(user=row, defaults=fields)
        EmailChange.objects.filter(user=row).delete()
        row.is_active = False
        # Not ``update``: the signals of ``save`` bring it to Redis at once.
        row.save(update_fields=["is_active"])
        end_all_sessions(row)
        if not notice:
            outgoing.queue_email("deletion_asked", row, days=settings.ACCOUNT_DELETION_DAYS, by_staff=by_staff)
    return due


def get_due_time(user: User) -> datetime | None:
    """Return the time at which the account will be deleted. None: no deletion is scheduled, or it is already due."""
    deletion = find_deletion(user)
    return None if deletion is None else deletion.due_at


def find_deletion(user: User) -> AccountDeletion | None:
    """Return the scheduled deletion of an inactive user. None: there is none, or it is already due."""
    if user.is_active or not hasattr(user, "deletion"):
        return None
    found: AccountDeletion = user.deletion
    return found if found.is_held or found.due_at > clock.now() else None


def cancel_deletion(owner: User) -> User | None:
    """Cancel the deletion of a proven owner and return the user.

    None: it is due, staff decided it, or the password has changed. A suspended user stays inactive.
    """
    return _cancel_deletion(owner, [""])


def reverse_deletion(user: User, notice: str) -> User | None:
    """Cancel the deletion that staff decided with this notice, and return the user. None: it is missing or due."""
    # Without a notice: decided before deletions had one.
    return _cancel_deletion(user, ["", notice])


@repeat_after_conflict
def _cancel_deletion(owner: User, notices: Sequence[str]) -> User | None:
    with transaction.atomic():
        # Those of the proof: a password that was changed since then makes it void.
        proven = {"password": owner.password, "session_secret": owner.session_secret}
        user = User.objects.select_for_update().filter(pk=owner.pk, **proven).first()
        found = None if user is None else find_deletion(user)
        if user is None or found is None or found.notice not in notices:
            return None
        AccountDeletion.objects.filter(user=user).delete()
        user.is_active = suspension.find_suspension(user) is None
        user.save(update_fields=["is_active"])
    return user


def hold_deletion(user_id: int, notice: str, *, is_held: bool) -> bool:
    """Hold the deletion that staff decided with this notice, or let it go on. Return False if it is due or missing."""
    found = AccountDeletion.objects.filter(user=user_id, notice=notice)
    # After it is due, some data may be gone already.
    due = found.filter(due_at__gt=clock.now()) if is_held else found
    return bool(due.update(is_held=is_held))


def delete_due_accounts(seconds: float | None = None) -> int:
    """Delete the accounts that are due within a budget of ``seconds``. Return the number of deleted accounts.

    At least one slice is deleted. A failure of one account does not stop the others. Raises redis-py's errors.
    """
    deadline, gone, last = Deadline(seconds), 0, 0
    # Staff reactivated these accounts: a later deactivation must not delete them.
    AccountDeletion.objects.filter(user__is_active=True).delete()
    due = AccountDeletion.objects.filter(due_at__lte=clock.now(), is_held=False, user__is_active=False).order_by("pk")
    while user_id := due.filter(pk__gt=last).values_list("pk", flat=True).first():
        last = user_id
        try:
            gone += _delete_account(user_id, deadline)
        except RedisError:
            raise
        # A bug in one part must not keep the accounts of others from being deleted.
        except Exception:
            logger.exception("User %s: the account could not be deleted", user_id)
        if deadline.passed():
            break
    return gone


def _delete_account(user_id: int, deadline: Deadline) -> bool:
    """Delete one account as far as the deadline allows. Return whether the user's row is deleted."""
    is_whole = True
    for part in registry.all_parts():
        try:
            while part.erase(user_id):
                if deadline.passed():
                    return False
        except registry.NotErasableYet:
            is_whole = False
    # The row last: while it exists, the next run finds the account and continues.
    if is_whole:
        User.objects.get(pk=user_id).delete()
    return is_whole
