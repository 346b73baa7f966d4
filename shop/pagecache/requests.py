"""Requests for cached pages, and the parts of a request that a cached page depends on."""

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

from common.middleware import EXPLAIN_PARAMETER
from common.web import get_theme, wants_json
from mirror.middleware import COOKIE as BEHIND
from mirror.read import Prefetched
from shop.pagecache.code_version import get_code_version
from shop.pagecache.registry import Target, find_target
from shop.pagecache.sessions import VisitorSession

MAX_HEADER_LENGTH: Final = 200  # characters of a header whose parsed meaning is cached
NO_WORDS: Final = frozenset[str]()


class Visit(NamedTuple):
    """A request, and the replies that Redis gave ahead of it.

    facts: the replies that do not concern the visitor. is_told: the view has been recorded already. session: the
    session that the visitor may have, or None without a session cookie.
    """

    request: "PageRequest"
    replies: Prefetched
    facts: Sequence[Any]
    is_told: bool
    session: VisitorSession | None


class PageRequest(NamedTuple):
    """A request for a page that may be cached.

    query: the parameters that change the page, in a fixed order. visitor_words: the words of fragments
    (``pagecache.fragments``) that must be rendered for this visitor.
    """

    http: HttpRequest
    target: Target
    host: str
    query: str
    language: str
    visitor_words: frozenset[str]

    def digest(self, facts: Iterable[Any]) -> str:
        """Return the cache key of the page. facts: the data that the page is made of."""
        http = self.http
        digest = hashlib.blake2b(get_code_version(), digest_size=20)
        for part in (http.scheme, self.host, http.path, self.query, self.language, *map(_encode_fact, facts)):
            raw = part if isinstance(part, bytes) else str(part).encode(errors="surrogateescape")
            # With lengths, because otherwise two sequences of parts could give one text.
            digest.update(b"%d:%b" % (len(raw), raw))
        return digest.hexdigest()


def _encode_fact(fact: Any) -> bytes:
    return fact if isinstance(fact, bytes) else repr(fact).encode()


def parse_page_request(http: HttpRequest) -> PageRequest | None:
    """Return the request if its page may be cached, else None.

    Not cached are requests that must see a write that Redis may lack, and requests for JSON, for a part of the page or
    for the explain view. Only the query parameters that the page declares count; a query with other parameters gets the
    same page. Otherwise every tracking parameter in a link would add another copy to the cache.
    """
    if http.method not in ("GET", "HEAD") or BEHIND in http.COOKIES or "HTTP_HX_REQUEST" in http.META:
        return None
    target = find_target(http.path_info)
    if target is None or not _wants_html(http):
        return None
    host = http.get_host()
    if not (settings.DEBUG or _is_canonical_host(host, http.META.get("SERVER_PORT", ""))):
        return None
    query, is_odd = "", False
    if http.META.get("QUERY_STRING"):
        if EXPLAIN_PARAMETER in http.GET:
            return None
        known = sorted((name, http.GET.getlist(name)) for name in http.GET if name in target.page.parameters)
        query = urlencode(known, doseq=True)
        is_odd = http.META["QUERY_STRING"] != query
    return PageRequest(
        http, target, host, query, _get_language(http), find_visitor_words(http) | ({"address"} if is_odd else NO_WORDS)
    )


@lru_cache(maxsize=256)
def _is_canonical_host(host: str, port: str) -> bool:
    """Return whether an allowed host is written as browsers do: in lower case, and with no port but the server's own.

    Otherwise anybody could fill the cache with 65,000 copies of each page, one per port.
    """
    name, _ = split_domain_port(host)
    return host in (name, f"{name}:{port}")


def find_visitor_words(http: HttpRequest) -> frozenset[str]:
    """Return the words of fragments that differ for this visitor."""
    if not http.COOKIES:
        return NO_WORDS
    words = set()
    if settings.SESSION_COOKIE_NAME in http.COOKIES:
        # Messages that do not fit into a cookie are in the session.
        words |= {"person", "messages"}
    if "messages" in http.COOKIES:
        words.add("messages")
    if get_theme(http):
        words.add("theme")
    return frozenset(words)


def _wants_html(http: HttpRequest) -> bool:
    accept = http.META.get("HTTP_ACCEPT", "*/*")
    return _wants_html_by_accept(accept) if len(accept) <= MAX_HEADER_LENGTH else not wants_json(http)


@lru_cache(maxsize=256)
def _wants_html_by_accept(accept: str) -> bool:
    http = HttpRequest()
    http.META["HTTP_ACCEPT"] = accept
    return not wants_json(http)


def _get_language(http: HttpRequest) -> str:
    chosen = http.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    accepted = http.META.get("HTTP_ACCEPT_LANGUAGE", "")
    # Long headers would fill the cache below with texts of strangers.
    if len(chosen) + len(accepted) > MAX_HEADER_LENGTH:
        return get_language_from_request(http)
    return _get_language_by_headers(chosen, accepted)


@lru_cache(maxsize=1024)
def _get_language_by_headers(chosen: str, accepted: str) -> str:
    cookies = {settings.LANGUAGE_COOKIE_NAME: chosen} if chosen else {}
    like: Any = SimpleNamespace(COOKIES=cookies, META={"HTTP_ACCEPT_LANGUAGE": accepted})
    return get_language_from_request(like)
