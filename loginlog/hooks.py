"""Automatic marks at logins and at the first request of a day, and erasure of deleted users."""

import logging
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
from mirror.utils import Bounded

logger = logging.getLogger("loginlog")

MAX_REMEMBERED: Final = 100_000
RememberedMark = tuple[str, int, str, date]  # Redis' incarnation, user id, user type, day

recent_marks: Final = Bounded[RememberedMark, bool](MAX_REMEMBERED)  # the marks that this process has made


def mark_seen(user: AbstractBaseUser | AnonymousUser) -> None:
    """Mark that a user is active now, once per day and type and after the current transaction.

    Repeated calls need no round trip. A new incarnation of Redis may have lost the mark and gets it again.
    """
    if not isinstance(user, User) or not user.is_authenticated:
        return
    what = _build_current_mark(user)
    if not recent_marks.get(what):
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
        recent_marks.put(what, True)


@receiver(user_logged_in, dispatch_uid="loginlog")
def _mark_login(*, user: Any, **kwargs: object) -> None:
    if isinstance(user, User):  # mark it again, because the earlier login may have been removed
        recent_marks.forget(_build_current_mark(user))
    mark_seen(user)


@receiver(pre_delete, sender=User, dispatch_uid="loginlog")
def _erase_deleted_user(*, instance: User, **kwargs: object) -> None:
    erasure.erase_user(instance.pk)
