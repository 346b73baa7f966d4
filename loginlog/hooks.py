"""What makes a mark by itself: logins, first requests of a day; and what erases: a user who is deleted."""

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
from loginlog import erasure, services
from loginlog.days import today
from mirror.redis import client

logger = logging.getLogger("loginlog")

KEPT: Final = 100_000
Seen = tuple[str, int, str, date]  # in which life of Redis, who, as what, when


class _Recent:
    """What this process has marked already; forgotten when there is too much of it."""

    def __init__(self) -> None:
        self._seen: set[Seen] = set()
        self._lock = threading.Lock()

    def __contains__(self, what: Seen) -> bool:
        return what in self._seen

    def add(self, what: Seen) -> None:
        """Remember this."""
        with self._lock:
            if len(self._seen) >= KEPT:
                self._seen.clear()
            self._seen.add(what)

    def discard(self, what: Seen) -> None:
        """Forget this."""
        with self._lock:
            self._seen.discard(what)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._seen.clear()


recent = _Recent()


def seen(user: AbstractBaseUser | AnonymousUser) -> None:
    """A user is here now. Marked once a day and type, after the commit of what is under way; costs nothing again.

    A Redis that came back from a failure may have lost the mark: there it is made once more.
    """
    if not isinstance(user, User) or not user.is_authenticated:
        return
    what = _now(user)
    if what not in recent:
        transaction.on_commit(lambda: _mark(what))


def _now(user: User) -> Seen:
    return getattr(client().connection_pool, "incarnation", ""), user.pk, user.user_type, today()


def _mark(what: Seen) -> None:
    """Mark; what fails is logged, for nobody's page may fail because of it, and is tried at the next request."""
    _, user_id, user_type, day = what
    try:
        services.mark_as(user_id, user_type, day)
    except DatabaseError:
        logger.exception("The login of user %s on %s was not marked", user_id, day)
    else:
        recent.add(what)


@receiver(user_logged_in, dispatch_uid="loginlog")
def _logged_in(*, user: Any, **kwargs: object) -> None:
    if isinstance(user, User):  # marked also if this process has marked it: that login may have been removed
        recent.discard(_now(user))
    seen(user)


@receiver(pre_delete, sender=User, dispatch_uid="loginlog")
def _deleted(*, instance: User, **kwargs: object) -> None:
    erasure.erase(instance.pk)
