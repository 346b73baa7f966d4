"""A browser for very many requests.

Django's test client copies the context of each template, which costs as much as rendering it.
"""

import traceback
from typing import Any

from django.conf import settings
from django.core.signals import got_request_exception
from django.db import transaction
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.test.client import ClientHandler

from accounts.models import User

HTML, JSON = "text/html", "application/json"
SAFE = ("GET", "HEAD", "OPTIONS")


class Browser(RequestFactory):
    """Asks with the cookies of one session. Writes are rolled back, so that each request finds the same site."""

    def __init__(self, user: User | None = None, *, checks_csrf: bool = False) -> None:
        super().__init__()
        self.handler = ClientHandler(enforce_csrf_checks=checks_csrf)
        self.error = ""  # the traceback of the last answer with status 500
        if user is not None:
            client = Client()
            client.force_login(user)
            self.cookies[settings.SESSION_COOKIE_NAME] = client.cookies[settings.SESSION_COOKIE_NAME].value
            client.get("/accounts/")  # the session notes its user's rights

    def ask(self, method: str, path: str, accept: str = HTML) -> HttpResponse:
        """Send one request; an empty form, if it is a POST."""
        kind = {"content_type": "application/x-www-form-urlencoded"} if method == "POST" else {}
        return self.send(method, path, headers={"accept": accept}, **kind)

    def send(self, method: str, path: str, **request: Any) -> HttpResponse:
        """Send what ``RequestFactory.generic`` takes."""
        self.error = ""
        if method in SAFE:
            return self.generic(method, path, **request)  # type: ignore[return-value]
        with transaction.atomic():
            response = self.generic(method, path, **request)
            transaction.set_rollback(True)
        return response  # type: ignore[return-value]

    def request(self, **request: Any) -> Any:
        got_request_exception.connect(self._note)
        try:
            response = self.handler(self._base_environ(**request))  # type: ignore[attr-defined]
        finally:
            got_request_exception.disconnect(self._note)
        return response

    def _note(self, **signal: Any) -> None:
        self.error = traceback.format_exc(limit=-6)


def text_of(response: Any) -> str:
    """The body and the headers of an answer."""
    body = b"".join(response.streaming_content) if response.streaming else response.content
    headers = "\n".join([*map(str, response.headers.items()), *map(str, response.cookies.values())])
    return f"{headers}\n\n{body.decode()}"
