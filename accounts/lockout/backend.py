"""The first authentication backend, which counts login attempts before other backends check passwords."""

from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest

from accounts import lockout
from accounts.audit.log import Kind, record_event
from accounts.lockout import counters_sql
from accounts.lockout.known import find_device_id
from accounts.lockout.limits import list_counters, list_logins
from accounts.models import User
from accounts.ratelimit import get_client_address
from common.database import repeat_after_conflict
from mirror.utils import after_commit


class Backend(BaseBackend):
    """Reserve an attempt for the name, or refuse it. Logins without a request are not counted."""

    def authenticate(self, request: HttpRequest | None, username: str | None = None, **kwargs: Any) -> None:
        """Store the attempt as ``request.login_try``. Raises PermissionDenied if a limit is reached.

        The error ends ``django.contrib.auth.authenticate``, so no other backend checks the password.
        """
        if request is None or username is None:
            return
        this = lockout.reserve_attempt(
            list_counters(username, get_client_address(request), find_device_id(request, username))
        )
        request.login_try = this  # type: ignore[attr-defined]
        if this.wait_seconds:
            # Django then asks no other backend. Returning None would let the next one check the password.
            raise PermissionDenied


def get_attempt(request: HttpRequest | None) -> lockout.LoginAttempt | None:
    """Return the login attempt of this request; None if it has none."""
    return getattr(request, "login_try", None)


@receiver(user_login_failed, dispatch_uid="accounts.lockout.record_failure")
def count_failure(*, request: HttpRequest | None = None, **kwargs: Any) -> None:
    """Count a failed attempt, unless it was refused."""
    this = get_attempt(request)
    if this is None or this.wait_seconds:
        return
    _store_failure(this)
    # A second signal in the same request must not count the failure twice.
    del request.login_try  # type: ignore[union-attr]


@receiver(user_logged_in, dispatch_uid="accounts.lockout.record_success")
def reset_counters(*, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Reset the user's counters after a login."""
    this = get_attempt(request)
    if this is not None and this.counters[0].name in list_logins(user.username, user.email):
        lockout.record_success(this)
        # After the commit: a repeated transaction resets the counters again.
        after_commit(_forget_attempt, request)


def _forget_attempt(request: HttpRequest) -> None:
    del request.login_try  # type: ignore[attr-defined]


@repeat_after_conflict
def _store_failure(this: lockout.LoginAttempt) -> None:
    with transaction.atomic():
        lockout.record_failure(this)
        _record_lockouts(this)


def _record_lockouts(this: lockout.LoginAttempt) -> None:
    """Write an audit event for each counter that this failure has filled."""
    counts = counters_sql.read_counts(this.counters)
    for counter in this.counters:
        # Equal, not greater: only the failure that fills a counter is an event.
        if counts.get(counter.key, (0, 0.0))[0] == counter.limit.allowed:
            record_event(Kind.LOCKED_OUT, counter.name, counter.limit.kind)
