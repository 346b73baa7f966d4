"""Automatic marks at logins and at the first request of a day."""

import logging
from datetime import date
from typing import Any, Final

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.signals import user_logged_in
from django.db import DatabaseError, transaction
from django.dispatch import receiver

from accounts.models import User
from loginlog import services
from loginlog.days import today
from mirror.utils import Bounded

logger = logging.getLogger("loginlog")

MAX_REMEMBERED: Final = 100_000
RememberedMark = tuple[int, str, date]  # user id, user type, day

recent_marks: Final = Bounded[RememberedMark, bool](MAX_REMEMBERED)  # the marks that this process has made


def mark_seen(user: AbstractBaseUser | AnonymousUser) -> None:
    """Mark that a user is active now, once per day and type in this process, after the current transaction."""
    if not isinstance(user, User) or not user.is_authenticated:
        return
    what = (user.pk, user.user_type, today())
    # After the commit, because on PostgreSQL a failed statement would abort the transaction of the caller.
    if not recent_marks.get(what):
        transaction.on_commit(lambda: _mark_safely(what))


def _mark_safely(what: RememberedMark) -> None:
    """Mark a login. A failure is logged, since it must not break the page; the next request tries again."""
    try:
        services.mark_login_as(*what)
    except DatabaseError:
        logger.exception("The login of user %s on %s was not marked", what[0], what[2])
    else:
        recent_marks.put(what, True)


@receiver(user_logged_in, dispatch_uid="loginlog")
def _mark_login(*, user: Any, **kwargs: object) -> None:
    """Mark a login in its transaction, again if an earlier login of the day was removed."""
    if isinstance(user, User):
        what = (user.pk, user.user_type, today())
        services.mark_login_as(*what)
        # Not before the commit: a mark that is rolled back must not count as made.
        transaction.on_commit(lambda: recent_marks.put(what, True))
