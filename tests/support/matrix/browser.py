"""A fast test client for very many requests.

Django's test client copies the context of every template, which costs as much as rendering it.
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
BARE = ("/shop/payments/callback/",)  # its caller is a program that reads only the status
SAFE = ("GET", "HEAD", "OPTIONS")


class Browser(RequestFactory):
    """Send requests with the cookies of one session. Writes are rolled back, so each request finds the same data."""

    def __init__(self, user: User | None = None, *, checks_csrf: bool = False) -> None:
        super().__init__()
        self.handler = ClientHandler(enforce_csrf_checks=checks_csrf)
        self.error = ""  # the traceback of the last response with status 500
        if user is not None:
            client = Client()
            client.force_login(user)
            self.cookies[settings.SESSION_COOKIE_NAME] = client.cookies[settings.SESSION_COOKIE_NAME].value
            client.get("/accounts/")  # stores the user's permissions in the session

    def ask(self, method: str, path: str, accept: str = HTML) -> HttpResponse:
        """Send one request; a POST sends an empty form."""
        kind = {"content_type": "application/x-www-form-urlencoded"} if method == "POST" else {}
        return self.send(method, path, headers={"accept": accept}, **kind)

    def send(self, method: str, path: str, **request: Any) -> HttpResponse:
        """Send a request with the arguments of ``RequestFactory.generic``."""
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
    """Return the headers and the body of a response."""
    body = b"".join(response.streaming_content) if response.streaming else response.content
    headers = "\n".join([*map(str, response.headers.items()), *map(str, response.cookies.values())])
    return f"{headers}\n\n{body.decode(errors='replace')}"


def is_complete(path: str, response: Any) -> bool:
    """Return whether an error is a page of the site or JSON."""
    kind = response.headers["Content-Type"]
    if path in BARE:
        return True
    return b"</html>" in response.content if kind.startswith(HTML) else kind.startswith(JSON)
