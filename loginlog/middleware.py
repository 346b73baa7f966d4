"""A user who stays logged in is here every day: their first request of a day counts as a login."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from loginlog import hooks

logger = logging.getLogger("loginlog")


class FirstRequestOfTheDay:
    """The middleware. It goes behind the one that knows the user. Later requests cost nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Strangers are not looked up; and an error's page needs neither Redis nor SQL.
        if settings.SESSION_COOKIE_NAME in request.COOKIES and response.status_code < 400:
            try:
                hooks.seen(request.user)
            except DatabaseError as error:  # the answer is there already
                logger.warning("SQL did not say who is there, the next request will: %s", error)
        return response
