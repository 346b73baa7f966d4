"""Middleware that counts the first request of a day as a login, since many users stay logged in."""

import logging
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from loginlog import hooks
from mirror.utils import FailureLog

failures: Final = FailureLog(logging.getLogger("loginlog"))


class FirstRequestOfTheDay:
    """Mark the user's first request of a day. Place it after the authentication middleware.

    Later requests of the day need no round trip.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Skip visitors without a session, and error pages, which must need neither Redis nor SQL.
        if settings.SESSION_COOKIE_NAME in request.COOKIES and response.status_code < 400:
            try:
                hooks.mark_seen(request.user)
            # The response is already complete, and must not become an error page.
            except DatabaseError as error:
                text = "SQL did not say who is there, the next request will: %s"
                failures.add("sql", text, error, level=logging.WARNING)
            else:
                failures.end("sql", "SQL says again who is there")
        return response
