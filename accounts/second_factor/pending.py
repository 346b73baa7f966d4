"""Logins that miss their second factor: noted in a session that stays anonymous until then."""

import time
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from accounts.models import User

KEY: Final = "_pending_login"


def begin(request: HttpRequest, user: User, target: str) -> None:
    """Note that the password of ``user`` was right, and the address to go on to."""
    now, proof = int(time.time()), user.get_session_auth_hash()
    request.session[KEY] = {"user": user.pk, "proof": proof, "target": target, "at": now}


def user_of(request: HttpRequest) -> User | None:
    """Return the user of the pending login; None without one, after its time, or after a new password."""
    said: dict[str, Any] | None = request.session.get(KEY)
    if said is None or time.time() - said["at"] > settings.PENDING_LOGIN_SECONDS:
        return None
    user = User.objects.filter(pk=said["user"], is_active=True).first()
    return user if user and constant_time_compare(user.get_session_auth_hash(), said["proof"]) else None


def end(request: HttpRequest) -> str:
    """Forget the pending login. Returns the address to go on to."""
    target: str = request.session.pop(KEY)["target"]
    return target
