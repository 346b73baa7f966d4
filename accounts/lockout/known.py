"""Known devices: a signed cookie, sent only to the login page, marks browsers in which a user has logged in.

This follows OWASP's "device cookies". Failures on other devices do not count against a known one, so that others
cannot lock out the owner of an account. The cookie does not replace the password. It becomes invalid when the password
changes and when the user logs out everywhere.
"""

from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare, get_random_string

from accounts.lockout.limits import list_logins, normalize_name
from accounts.models import User

COOKIE_NAME: Final = "device"
SALT: Final = "accounts.lockout.known"
COOKIE_DAYS: Final = 180


def remember_device(response: HttpResponse, user: User) -> None:
    """Set the cookie in ``response``, so that the browser is a known device of ``user``."""
    response.set_cookie(
        COOKIE_NAME,
        signing.dumps([user.pk, get_random_string(22), _make_stamp(user)], salt=SALT),
        max_age=COOKIE_DAYS * 86_400,
        path=reverse("accounts:login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def find_device_id(request: HttpRequest, typed: str) -> str:
    """Return the random id of the browser if it is a known device of the user with this name or address, or else ""."""
    try:
        signed: Any = signing.loads(request.COOKIES.get(COOKIE_NAME, ""), salt=SALT, max_age=COOKIE_DAYS * 86_400)
    # Also without a cookie, or with an expired one.
    except signing.BadSignature:
        return ""
    # A cookie of an earlier release may have fewer values.
    if len(signed) < 3:
        return ""
    owner, device_id, stamp, *_ = signed
    # A cookie of an earlier release has the folded name, which the user may have changed since.
    user = User.objects.filter(**{"pk" if isinstance(owner, int) else "name_key": owner}).first()
    if user is None or normalize_name(typed) not in list_logins(user.username, user.email):
        return ""
    return str(device_id) if constant_time_compare(stamp, _make_stamp(user)) else ""


def _make_stamp(user: User) -> str:
    """Return a text that changes with the user's password and session secret."""
    return user.get_session_auth_hash()[:16]
