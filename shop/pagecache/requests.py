"""Requests for public pages, and the parts of a request that a stored page depends on."""

import hashlib
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.utils.translation import get_language_from_request

from common.middleware import EXPLAIN_PARAMETER
from common.web import get_theme, wants_json
from mirror.middleware import COOKIE as BEHIND
from shop.pagecache.code_version import get_code_version
from shop.pagecache.targets import Target, find_target

MAX_HEADER_LENGTH: Final = 200  # characters of a header whose parsed meaning is cached


class PageRequest(NamedTuple):
    """A request for a public page.

    query: the parameters that change the page, in a fixed order. theme: as ``get_theme`` returns it. is_personal: the
    visitor may have a session or messages, so the page is rendered for the request.
    """

    http: HttpRequest
    target: Target
    host: str
    query: str
    language: str
    theme: str
    is_personal: bool

    @property
    def digest(self) -> str:
        """The key of the stored page."""
        http = self.http
        digest = hashlib.blake2b(get_code_version(), digest_size=20)
        for part in (http.scheme or "", self.host, http.path, self.query, self.language, self.theme):
            raw = part.encode(errors="surrogateescape")
            # With lengths, because otherwise two sequences of parts could give one text.
            digest.update(b"%d:%b" % (len(raw), raw))
        return digest.hexdigest()


def parse_page_request(http: HttpRequest) -> PageRequest | None:
    """Return the request if it is for a public page, else None.

    Left out are requests that must see a write that Redis may lack, and requests for JSON, for a part of the page or
    for the explain view. Only the parameters that the page declares count; with others, the page is the same.
    Otherwise every tracking parameter in a link would add another page to the cache.
    """
    if http.method not in ("GET", "HEAD") or BEHIND in http.COOKIES or "HTTP_HX_REQUEST" in http.META:
        return None
    target = find_target(http.path_info)
    if target is None or wants_json(http):
        return None
    host = http.get_host()
    if not (settings.DEBUG or _is_canonical_host(host, http.META.get("SERVER_PORT", ""))):
        return None
    query = ""
    if http.META.get("QUERY_STRING"):
        if EXPLAIN_PARAMETER in http.GET:
            return None
        given = sorted((name, http.GET.getlist(name)) for name in http.GET if name in target.page.parameters)
        query = urlencode(given, doseq=True, errors="surrogateescape")
    cookies = http.COOKIES
    is_personal = bool(cookies) and (settings.SESSION_COOKIE_NAME in cookies or "messages" in cookies)
    return PageRequest(http, target, host, query, _get_language(http), get_theme(http), is_personal)


@lru_cache(maxsize=256)
def _is_canonical_host(host: str, port: str) -> bool:
    """Return whether an allowed host is written as browsers do: in lower case, and with no port but the server's own.

    Otherwise anybody could fill the cache with 65,000 copies of each page, one per port.
    """
    name, _ = split_domain_port(host)
    return host in (name, f"{name}:{port}")


def _get_language(http: HttpRequest) -> str:
    chosen = http.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    accepted = http.META.get("HTTP_ACCEPT_LANGUAGE", "")
    # Long headers would fill the cache below with texts of any visitor.
    if len(chosen) + len(accepted) > MAX_HEADER_LENGTH:
        return get_language_from_request(http)
    return _get_language_by_headers(chosen, accepted)


@lru_cache(maxsize=1024)
def _get_language_by_headers(chosen: str, accepted: str) -> str:
    cookies = {settings.LANGUAGE_COOKIE_NAME: chosen} if chosen else {}
    like: Any = SimpleNamespace(COOKIES=cookies, META={"HTTP_ACCEPT_LANGUAGE": accepted})
    return get_language_from_request(like)
