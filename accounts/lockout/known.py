"""Browsers that a name has logged in with: a signed cookie, sent to the log-in page alone.

After OWASP's "device cookies": failures of strangers do not count against who has one, so that nobody is locked out
by others; it says nothing but "this name was here", and opens no door: the password is asked all the same.
"""

from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import get_random_string

from accounts.lockout.limits import counted_name

COOKIE: Final = "device"
SALT: Final = "accounts.lockout.known"
DAYS: Final = 180


def remember(response: HttpResponse, name: str) -> None:
    """Let the browser that gets ``response`` be known as one that ``name`` has logged in with."""
    response.set_cookie(
        COOKIE,
        signing.dumps([counted_name(name), get_random_string(22)], salt=SALT),
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
    return str(said[1]) if said[0] == counted_name(name) else ""
