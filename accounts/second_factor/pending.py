"""Pending logins, which wait for their second factor. They are stored in a session that stays anonymous."""

import time
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from accounts.models import User

PENDING_KEY: Final = "_pending_login"


def begin(request: HttpRequest, user: User, target: str, *, keeps_account: bool = False) -> None:
    """Store that the password of ``user`` was right, and the URL that follows the login.

    keeps_account: the login also cancels the deletion of the account, which is inactive until then.
    """
    now, proof = int(time.time()), user.get_session_auth_hash()
    started = {"user": user.pk, "proof": proof, "target": target, "at": now}
    request.session[PENDING_KEY] = started | {"keeps_account": keeps_account}


def get_user(request: HttpRequest) -> User | None:
    """Return the user of the pending login. None: there is none, it has expired, or the password has changed."""
    pending: dict[str, Any] | None = request.session.get(PENDING_KEY)
    if pending is None or time.time() - pending["at"] > settings.PENDING_LOGIN_SECONDS:
        return None
    is_active = not pending.get("keeps_account")
    user = User.objects.filter(pk=pending["user"], is_active=is_active).first()
    # A password that was changed while the login waited ends it.
    return user if user and constant_time_compare(user.get_session_auth_hash(), pending["proof"]) else None


def end(request: HttpRequest) -> str:
    """Remove the pending login and return the URL that follows it."""
    target: str = request.session.pop(PENDING_KEY)["target"]
    return target
