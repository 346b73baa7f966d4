"""The readers who have logged in with a browser, so that a page of one does nothing for another.

A cookie has marks of the last two, the newest first. A mark tells nothing without the site's secret.
"""

from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

COOKIE: Final = f"{settings.COOKIE_PREFIX}reader"
MARK_CHARACTERS: Final = 16
MAX_READERS: Final = 2


def make_mark(user_id: Any) -> str:
    """Return the mark of a user."""
    return salted_hmac("common.web.readers", str(user_id)).hexdigest()[:MARK_CHARACTERS]


def get_author(request: HttpRequest) -> str:
    """Return the mark of the reader whose page sends this request: the visitor, or who was last logged in here.

    It is "" if nobody was.
    """
    if request.user.is_authenticated:
        return make_mark(request.user.pk)
    return next(iter(_read_marks(request)), "")


def has_changed(request: HttpRequest) -> bool:
    """Return whether another reader was logged in here before the present one."""
    return request.user.is_authenticated and bool({*_read_marks(request)} - {make_mark(request.user.pk)})


def remember_reader(request: HttpRequest, response: HttpResponse, user_id: int) -> None:
    """Remember that this user has logged in."""
    marks = dict.fromkeys([make_mark(user_id), *_read_marks(request)])
    response.set_cookie(
        COOKIE,
        ".".join(list(marks)[:MAX_READERS]),
        max_age=settings.SESSION_COOKIE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read_marks(request: HttpRequest) -> list[str]:
    marks = request.COOKIES.get(COOKIE, "").split(".")
    return [mark for mark in marks if len(mark) == MARK_CHARACTERS][:MAX_READERS]
