"""What django-axes asks: may this be tried, and how did it go."""

from typing import Any

from axes.handlers.base import AxesHandler
from axes.helpers import get_client_username
from axes.signals import user_locked_out
from django.db import transaction
from django.http import HttpRequest

from accounts import lockout
from accounts.audit.log import Kind, note
from accounts.lockout import counters_sql
from accounts.lockout.known import device_of
from accounts.lockout.limits import Counter, counted_name, counters_of
from accounts.models import User
from accounts.ratelimit import address, address_part

Credentials = dict[str, Any] | None


class Handler(AxesHandler):
    """Counts tries as ``accounts.lockout`` says; the try of a request is noted on it as ``login_try``."""

    def is_allowed(self, request: HttpRequest, credentials: Credentials = None) -> bool:
        """Reserve a try; once for each request and name, however often it is asked."""
        if self.is_blacklisted(request, credentials):
            return False
        if self.is_whitelisted(request, credentials):
            return True
        counters = tuple(_counters(request, credentials))
        this = try_of(request)
        if this is None or this.counters != counters:
            this = lockout.reserve(counters)
            request.login_try = this  # type: ignore[attr-defined]
        return not this.wait

    def get_failures(self, request: HttpRequest, credentials: Credentials = None) -> int:
        """How often who asks has failed, as SQL knows it."""
        own = _counters(request, credentials)[0]
        return counters_sql.known([own]).get(own.key, (0, 0.0))[0]

    def user_login_failed(
        self, sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        """Count the failure, or say that it was not tried at all."""
        this = try_of(request)
        if request is None or this is None:
            return
        if this.wait:
            name = get_client_username(request, credentials)
            user_locked_out.send("axes", request=request, username=name, ip_address=address(request))
        else:
            with transaction.atomic():
                lockout.failed(this)
                _note_lockouts(this)
            del request.login_try  # type: ignore[attr-defined]

    def user_logged_in(self, sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
        """Forget the failures of who logged in."""
        this = try_of(request)
        if this is not None and this.counters[0].name == counted_name(user.get_username()):
            lockout.succeeded(this)
            del request.login_try  # type: ignore[attr-defined]

    def reset_attempts(
        self, *, ip_address: str | None = None, username: str | None = None, ip_or_username: bool = False
    ) -> int:
        """Unlock (``axes_reset`` and its like). Returns how many counters there were."""
        return lockout.unlock(
            name=counted_name(username) if username else None,
            address=address_part(ip_address) if ip_address else None,
            either=ip_or_username,
        )


def _note_lockouts(this: lockout.Try) -> None:
    """Note which counters this failure has filled."""
    counts = counters_sql.known(this.counters)
    for counter in this.counters:
        if counts.get(counter.key, (0, 0.0))[0] == counter.limit.allowed:
            note(Kind.LOCKED_OUT, counter.name, counter.limit.kind)


def try_of(request: HttpRequest | None) -> lockout.Try | None:
    """The try to log in that this request is."""
    return getattr(request, "login_try", None)


def _counters(request: HttpRequest, credentials: Credentials) -> list[Counter]:
    name = get_client_username(request, credentials) or ""
    return counters_of(name, address(request), device_of(request, name))
