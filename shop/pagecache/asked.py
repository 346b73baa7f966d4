"""What a request asks for, as far as pages are remembered by it."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.utils.translation import get_language_from_request

from config.answers import wants_json
from config.explain import PARAMETER as EXPLAIN
from config.look import theme_of
from mirror.middleware import COOKIE as BEHIND
from mirror.prefetch import Prefetched
from shop.pagecache.pages import Target, target_of
from shop.pagecache.people import Coming
from shop.pagecache.version import code_version

LONGEST: Final = 200  # characters of a header that is remembered with what it means
NOTHING: Final = frozenset[str]()


class Visit(NamedTuple):
    """A request, and what Redis said beforehand. facts: of that, what is not about the visitor. is_told: whom it
    concerns knows already that the page is served. coming: whose session it may be; None: they have none.
    """

    asked: "Request"
    known: Prefetched
    facts: Sequence[Any]
    is_told: bool
    coming: Coming | None


class Request(NamedTuple):
    """A request for a page that may be remembered. query: the part of its query that changes the page, in one order.
    who: the words of holes (``shop.pagecache.holes``) that have to be rendered for whoever asks.
    """

    http: HttpRequest
    target: Target
    host: str
    query: str
    language: str
    who: frozenset[str]

    def digest(self, facts: Iterable[Any]) -> str:
        """What the page is remembered by. facts: the data that it is made of."""
        http = self.http
        digest = hashlib.blake2b(code_version(), digest_size=20)
        for part in (http.scheme, self.host, http.path, self.query, self.language, *map(_bytes, facts)):
            raw = part if isinstance(part, bytes) else str(part).encode(errors="surrogateescape")
            digest.update(b"%d:%b" % (len(raw), raw))
        return digest.hexdigest()


def _bytes(fact: Any) -> bytes:
    return fact if isinstance(fact, bytes) else repr(fact).encode()


def asked_for(http: HttpRequest) -> Request | None:
    """The request, if what it asks for may be remembered.

    Not for who has to see a write that Redis may not have yet, nor for who asks for JSON, for a part of the page, or to
    be told what is behind it. Of a query only what the page knows counts: with anything else in it, the same page is
    served. (A word for every address that a mail or another site links by would be the end of any cache.)
    """
    if http.method not in ("GET", "HEAD") or BEHIND in http.COOKIES or "HTTP_HX_REQUEST" in http.META:
        return None
    target = target_of(http.path_info)
    if target is None or not _wants_html(http):
        return None
    host = http.get_host()
    if not (settings.DEBUG or _is_plain(host, http.META.get("SERVER_PORT", ""))):
        return None
    query, is_odd = "", False
    if http.META.get("QUERY_STRING"):
        if EXPLAIN in http.GET:
            return None
        known = sorted((name, http.GET.getlist(name)) for name in http.GET if name in target.page.parameters)
        query = urlencode(known, doseq=True)
        is_odd = http.META["QUERY_STRING"] != query
    return Request(http, target, host, query, _language(http), who(http) | ({"address"} if is_odd else NOTHING))


@lru_cache(maxsize=256)
def _is_plain(host: str, port: str) -> bool:
    """Whether a host that is allowed is written as browsers do: in small letters, and with no port but the server's
    own (port). Else anybody could have each page made, and kept, 65,000 times.
    """
    name, _ = split_domain_port(host)
    return host in (name, f"{name}:{port}")


def who(http: HttpRequest) -> frozenset[str]:
    """What sets whoever asks apart from a stranger."""
    if not http.COOKIES:
        return NOTHING
    words = set()
    if settings.SESSION_COOKIE_NAME in http.COOKIES:
        words |= {"person", "messages"}  # messages that are too long for a cookie are in the session
    if "messages" in http.COOKIES:
        words.add("messages")
    if theme_of(http):
        words.add("theme")
    return frozenset(words)


def _wants_html(http: HttpRequest) -> bool:
    accept = http.META.get("HTTP_ACCEPT", "*/*")
    return _html_by(accept) if len(accept) <= LONGEST else not wants_json(http)


@lru_cache(maxsize=256)
def _html_by(accept: str) -> bool:
    http = HttpRequest()
    http.META["HTTP_ACCEPT"] = accept
    return not wants_json(http)


def _language(http: HttpRequest) -> str:
    chosen = http.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    accepted = http.META.get("HTTP_ACCEPT_LANGUAGE", "")
    if len(chosen) + len(accepted) > LONGEST:
        return get_language_from_request(http)
    return _language_by(chosen, accepted)


@lru_cache(maxsize=1024)
def _language_by(chosen: str, accepted: str) -> str:
    cookies = {settings.LANGUAGE_COOKIE_NAME: chosen} if chosen else {}
    like: Any = SimpleNamespace(COOKIES=cookies, META={"HTTP_ACCEPT_LANGUAGE": accepted})
    return get_language_from_request(like)
