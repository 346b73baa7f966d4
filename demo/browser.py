"""A visitor's browser for ``demo_traffic``: pages of one site, a cookie jar, forms with their token."""

import json
import re
from collections.abc import Mapping
from http.client import HTTPException
from http.cookiejar import CookieJar
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, ProxyHandler, Request, build_opener

from django.conf import settings

USER_AGENT: Final = "diptych-demo-traffic"
_CSRF_FIELD: Final = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_HIDDEN_NUMBER_FIELD: Final = re.compile(r'<input type="hidden" name="([a-z]+)" value="([0-9]+)">')


class SiteUnavailable(Exception):
    """The site did not answer, or answered with a server error."""


class Answer(NamedTuple):
    """An answer of the site. path: the path of the page after all redirects."""

    status: int
    path: str
    text: str

    @property
    def json(self) -> Any:
        """The content as JSON, or None if it is not JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    @property
    def hidden(self) -> dict[str, str]:
        """The hidden fields with numbers in the forms of the page."""
        return dict(_HIDDEN_NUMBER_FIELD.findall(self.text))


class SameOriginRedirectHandler(HTTPRedirectHandler):
    """A redirect handler that refuses to leave the site."""

    def __init__(self, origin: str) -> None:
        self.origin = origin

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        if parse_origin(newurl) != self.origin:
            raise SiteUnavailable(f"it leads away, to {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def parse_origin(url: str) -> str:
    """Return the origin of an address: "http://127.0.0.1:8000". Raises ValueError for an invalid address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not the address of a site")
    return f"{parts.scheme}://{parts.netloc}"


class Browser:
    """A browser for one site. It uses no proxy."""

    def __init__(self, url: str) -> None:
        self.origin = parse_origin(url)
        self._cookies, self._token = CookieJar(), ""
        self._opener = build_opener(
            ProxyHandler({}), HTTPCookieProcessor(self._cookies), SameOriginRedirectHandler(self.origin)
        )

    def get(self, path: str, *, accept: str = "text/html") -> Answer:
        """Return a page. Raises Gone."""
        return self._ask(path, None, accept)

    def get_json(self, path: str) -> Any:
        """Return the JSON of a page, or None if the answer is not JSON. Raises Gone."""
        return self.get(path, accept="application/json").json

    def post(self, path: str, fields: Mapping[str, object], *, accept: str = "text/html") -> Answer:
        """Submit a form of the last page, and return the answer. Raises Gone."""
        given = {**fields, "csrfmiddlewaretoken": self._find_csrf_token()}
        return self._ask(path, urlencode(given, doseq=True).encode(), accept)

    def _find_csrf_token(self) -> str:
        # Pages without a form leave the token of an earlier page valid.
        if self._token:
            return self._token
        for cookie in self._cookies:
            if cookie.name == "csrftoken":
                return cookie.value or ""
        return ""

    def _ask(self, path: str, data: bytes | None, accept: str, content_type: str = "") -> Answer:
        headers = {"Accept": accept, "User-Agent": USER_AGENT, "Referer": f"{self.origin}/"}
        if content_type:
            headers["Content-Type"] = content_type
        request = Request(urljoin(self.origin, path), data, headers)
        try:
            with self._opener.open(request, timeout=settings.DEMO_TIMEOUT_SECONDS) as response:
                answer = Answer(response.status, urlsplit(response.url).path, response.read().decode())
        except HTTPError as error:
            if error.code >= 500:
                raise SiteUnavailable(f"{path}: {error.code}") from error
            answer = Answer(error.code, path, error.read().decode())
        except (OSError, HTTPException) as error:
            raise SiteUnavailable(f"{path}: {error}") from error
        if found := _CSRF_FIELD.search(answer.text):
            self._token = found[1]
        return answer
