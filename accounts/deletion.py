"""Deleting an account: asked for by its owner, carried out after a grace period.

The account is deactivated at once, so nothing of the person is visible, and its row keeps the name. When the period
is over, a periodic task erases each registered part (``accounts.personal``) slice by slice, then the user's row. Every
slice is one transaction and can be repeated, so a killed run is continued by the next one. The owner may take the
request back until the period is over, and not later: some data may be gone.
"""

import logging
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from redis.exceptions import RedisError

from accounts import letters, personal
from accounts.models import AccountDeletion, EmailChange, User
from accounts.session_services import end_all_sessions
from config import clock
from mirror.relay import Deadline

logger = logging.getLogger("accounts")

SALT: Final = "accounts.deletion"
TOKEN_SECONDS: Final = 1800


class Backend(ModelBackend):
    """Django's, which also knows users who may still keep their account: the log-in form offers it to them.

    It is the only one that checks passwords. Django's own stays listed for the sessions that name it.
    """

    def authenticate(self, request: HttpRequest | None, *args: Any, **kwargs: Any) -> Any:
        """Raise PermissionDenied instead of letting the next backend hash the password again."""
        user = super().authenticate(request, *args, **kwargs)
        if user is None:
            raise PermissionDenied
        return user

    def user_can_authenticate(self, user: Any) -> bool:
        return super().user_can_authenticate(user) or due_time(user) is not None

    def get_user(self, user_id: Any) -> Any:
        user = super().get_user(user_id)
        return user if user and user.is_active else None


def ask(user: User) -> datetime:
    """Deactivate ``user``, log them out everywhere and note the deletion. Returns when it is due."""
    now = clock.now()
    due = now + timedelta(days=settings.ACCOUNT_DELETION_DAYS)
    with transaction.atomic():
        row = User.objects.select_for_update().get(pk=user.pk)
        AccountDeletion.objects.update_or_create(user=row, defaults={"asked_at": now, "due_at": due})
        EmailChange.objects.filter(user=row).delete()
        row.is_active = False
        row.save(update_fields=["is_active"])  # saved, not updated: signals bring it to Redis at once
        end_all_sessions(row)
        letters.notify("deletion_asked", row.email, name=row.username, days=settings.ACCOUNT_DELETION_DAYS)
    return due


def due_time(user: User) -> datetime | None:
    """Return when the user's account is going to be deleted; None: never, or it is too late to keep it."""
    if user.is_active or not hasattr(user, "deletion"):
        return None
    due: datetime = user.deletion.due_at
    return due if due > clock.now() else None


def make_token(user: User) -> str:
    """Return the proof that this user has just given the password. It is good for one request for deletion."""
    return signing.dumps([user.pk, user.session_secret], salt=SALT)


def keep(token: str) -> User | None:
    """Activate the account of a token again. None: the token is wrong or too old, or the account is being deleted."""
    try:
        user_id, secret = signing.loads(token, salt=SALT, max_age=TOKEN_SECONDS)
    except signing.BadSignature:
        return None
    with transaction.atomic():
        user = User.objects.select_for_update().filter(pk=user_id).first()
        if user is None or due_time(user) is None or not constant_time_compare(user.session_secret, secret):
            return None
        AccountDeletion.objects.filter(user=user).delete()
        user.is_active = True
        user.save(update_fields=["is_active"])
    return user


def delete_due(seconds: float | None = None) -> int:
    """Delete the accounts that are due, or as many as fit in ``seconds``. Returns how many are gone.

    At least one slice is deleted. One account that fails does not stop the others. Raises redis-py's errors.
    """
    deadline, gone, last = Deadline(seconds), 0, 0
    # Staff activated these again: a later deactivation must not delete them.
    AccountDeletion.objects.filter(user__is_active=True).delete()
    due = AccountDeletion.objects.filter(due_at__lte=clock.now(), user__is_active=False).order_by("pk")
    while user_id := due.filter(pk__gt=last).values_list("pk", flat=True).first():
        last = user_id
        try:
            gone += _delete(user_id, deadline)
        except RedisError:
            raise
        except Exception:
            logger.exception("User %s: the account could not be deleted", user_id)
        if deadline.passed():
            break
    return gone


def _delete(user_id: int, deadline: Deadline) -> bool:
    """Delete one account, or a part of it. Returns whether it is gone."""
    is_whole = True
    for part in personal.all_parts():
        try:
            while part.erase(user_id):
                if deadline.passed():
                    return False
        except personal.NotYet:
            is_whole = False
    if is_whole:
        User.objects.get(pk=user_id).delete()
    return is_whole
