"""Automatic marks at logins and at the first request of a day, and erasure of deleted users."""

import logging
import threading
from datetime import date
from typing import Any, Final

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.signals import user_logged_in
from django.db import DatabaseError, transaction
from django.db.models.signals import pre_delete
from django.dispatch import receiver

from accounts.models import User
from loginlog import services
from loginlog.corrections import erasure
from loginlog.days import today
from mirror.redis import client

logger = logging.getLogger("loginlog")

MAX_REMEMBERED: Final = 100_000
RememberedMark = tuple[str, int, str, date]  # Redis' incarnation, user id, user type, day


class _RecentMarks:
    """The marks that this process has made. Above ``KEPT`` it forgets all of them."""

    def __init__(self) -> None:
        self._seen: set[RememberedMark] = set()
        self._lock = threading.Lock()

    def __contains__(self, what: RememberedMark) -> bool:
        return what in self._seen

    def add(self, what: RememberedMark) -> None:
        """Remember a mark."""
        with self._lock:
            if len(self._seen) >= MAX_REMEMBERED:
                self._seen.clear()
            self._seen.add(what)

    def discard(self, what: RememberedMark) -> None:
        """Forget a mark."""
        with self._lock:
            self._seen.discard(what)

    def clear(self) -> None:
        """Forget all marks."""
        with self._lock:
            self._seen.clear()


recent_marks = _RecentMarks()


def mark_seen(user: AbstractBaseUser | AnonymousUser) -> None:
    """Mark that a user is active now, once per day and type and after the current transaction.

    Repeated calls need no round trip. A new incarnation of Redis may have lost the mark and gets it again.
    """
    if not isinstance(user, User) or not user.is_authenticated:
        return
    what = _build_current_mark(user)
    if what not in recent_marks:
        transaction.on_commit(lambda: _mark_safely(what))


def _build_current_mark(user: User) -> RememberedMark:
    return getattr(client().connection_pool, "incarnation", ""), user.pk, user.user_type, today()


def _mark_safely(what: RememberedMark) -> None:
    """Mark a login. A failure is logged, since it must not break the page; the next request tries again."""
    _, user_id, user_type, day = what
    try:
        services.mark_login_as(user_id, user_type, day)
    except DatabaseError:
        logger.exception("The login of user %s on %s was not marked", user_id, day)
    else:
        recent_marks.add(what)


@receiver(user_logged_in, dispatch_uid="loginlog")
def _mark_login(*, user: Any, **kwargs: object) -> None:
    if isinstance(user, User):  # mark it again, because the earlier login may have been removed
        recent_marks.discard(_build_current_mark(user))
    mark_seen(user)


@receiver(pre_delete, sender=User, dispatch_uid="loginlog")
def _erase_deleted_user(*, instance: User, **kwargs: object) -> None:
    erasure.erase_user(instance.pk)
