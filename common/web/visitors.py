"""The visitor of a page, without opening a session that does not exist."""

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest


def get_visitor(request: HttpRequest) -> AbstractBaseUser | None:
    """Return the logged-in user, or None. Without a session cookie the session is never opened."""
    if not _may_be_logged_in(request):
        return None
    return request.user if request.user.is_authenticated else None


def get_viewer_id(request: HttpRequest) -> int | None:
    """Return the id of the logged-in user, or None."""
    visitor = get_visitor(request)
    return None if visitor is None else visitor.pk


def _may_be_logged_in(request: HttpRequest) -> bool:
    """Return whether the visitor has a session cookie, or was logged in by this request."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES or "_cached_user" in request.__dict__
