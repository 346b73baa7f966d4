"""The last proof of identity in a session: a login, the password, or a second factor.

The admin and the page of second factors require a new proof after ``settings.RECENT_LOGIN_SECONDS``.
"""

import time
from typing import Final

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from accounts.models import User
from common.web import redirect_to

PROOF_TIME_KEY: Final = "_authenticated_at"
FACTOR_KEY: Final = "_second_factor"  # whether a second factor was among the proofs


def record_proof(session: SessionBase, *, with_factor: bool = False) -> None:
    """Store in the session that its user has given a proof just now."""
    session[PROOF_TIME_KEY] = int(time.time())
    if with_factor:
        session[FACTOR_KEY] = True


def has_recent_proof(request: HttpRequest) -> bool:
    """Return whether the last proof is recent. Submitted forms have twice the time, so that they can be filled in."""
    # A form that was opened in time must not be lost because it took a while to fill in.
    seconds = settings.RECENT_LOGIN_SECONDS * (1 if request.method in ("GET", "HEAD") else 2)
    return bool(time.time() - request.session.get(PROOF_TIME_KEY, 0) < seconds)


def lacks_factor(user: User, session: SessionBase) -> bool:
    """Return whether the user is staff, needs a second factor and has not given one in this session."""
    is_staff = user.is_staff or user.is_superuser
    return bool(settings.SECOND_FACTOR_FOR_STAFF and is_staff and not session.get(FACTOR_KEY))


def redirect_to_confirm(target: str) -> HttpResponse:
    """Return a redirect to the page that asks for a proof and then redirects to ``target``."""
    return redirect_to(f"{reverse('accounts:confirm')}?{urlencode({'next': target})}")
