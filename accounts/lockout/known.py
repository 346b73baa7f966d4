"""Browsers that a name has logged in with: a signed cookie, sent to the log-in page alone.

After OWASP's "device cookies": failures of strangers do not count against who has one, so that nobody is locked out
by others; it says nothing but "this name was here", and opens no door: the password is asked all the same. It ends with
the password that it was given for, and when its user logs out everywhere.
"""

from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare, get_random_string

from accounts.lockout.limits import counted_name
from accounts.models import User

COOKIE: Final = "device"
SALT: Final = "accounts.lockout.known"
DAYS: Final = 180


def remember(response: HttpResponse, user: User) -> None:
    """Let the browser that gets ``response`` be known as one that ``user`` has logged in with."""
    response.set_cookie(
        COOKIE,
        signing.dumps([counted_name(user.username), get_random_string(22), _stamp(user)], salt=SALT),
        max_age=DAYS * 86_400,
        path=reverse("accounts:login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def device_of(request: HttpRequest, name: str) -> str:
    """What the browser is called, if ``name`` has logged in with it; else ""."""
    try:
        said: Any = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=DAYS * 86_400)
    except signing.BadSignature:  # or none, or too old
        return ""
    if said[0] != counted_name(name) or len(said) < 3:
        return ""
    user = User.objects.filter(name_key=said[0]).first()
    return str(said[1]) if user and constant_time_compare(said[2], _stamp(user)) else ""


def _stamp(user: User) -> str:
    """Return text that changes with the password and the secret."""
    return user.get_session_auth_hash()[:16]
