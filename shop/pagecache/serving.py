"""Render the cache fragments of a page when it is served."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, cast

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware, get_token
from django.template.backends.utils import csrf_input_lazy, csrf_token_lazy
from django.utils import translation
from django.utils.module_loading import import_string

from accounts.sessions import SessionStore
from shop.pagecache import fragment_cache
from shop.pagecache.fragments import Fragment, render_fragment
from shop.pagecache.requests import PageRequest, Visit
from shop.pagecache.stored_page import StoredPage

MIDDLEWARE_PATH: Final = "shop.pagecache.middleware.PageCache"
# Middleware after the page cache that fragments do not need: its effect is in the cached headers already, or never
# concerns a cached page.
SKIPPED_MIDDLEWARE: Final = frozenset(
    {
        "django.middleware.locale.LocaleMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
        "common.middleware.explain.ExplainMiddleware",
    }
)
ALWAYS_WORDS: Final = frozenset({"always"})
CACHE_CONTROL: Final = "private, no-cache"  # fragments belong to one visitor and one moment
_ANSWER: Final = "_page_cache_answer"

Handler = Callable[[HttpRequest], HttpResponse]


class PageServer:
    """Serve cached pages with their fragments for each visitor."""

    def __init__(self) -> None:
        self.csrf = CsrfViewMiddleware(_call_answer)

    @cached_property
    def middleware_chain(self) -> Handler:
        """The middleware around the rendering of fragments: sessions, users, messages, tokens and the rest."""
        paths = settings.MIDDLEWARE[settings.MIDDLEWARE.index(MIDDLEWARE_PATH) + 1 :]
        # An error in a fragment becomes a response here, as in a view, so that the middleware around it completes.
        handler: Any = convert_exception_to_response(_call_answer)
        for path in reversed([path for path in paths if path not in SKIPPED_MIDDLEWARE]):
            handler = import_string(path)(handler)
        return cast("Handler", handler)

    def serve_page(self, visit: Visit, digest: str, shell: StoredPage) -> HttpResponse:
        """Return the page for this visitor."""
        asked, http = visit.request, visit.request.http
        live = [n for n, placeholder in enumerate(shell.placeholders) if "reads" in placeholder.words]
        with translation.override(asked.language):
            http.LANGUAGE_CODE = asked.language
            parts = fragment_cache.get_shared_fragments(
                visit, digest, live, lambda nobody: self._render_anonymously(nobody, asked, shell, live)
            )
            who = asked.visitor_words | ALWAYS_WORDS
            own = [
                n
                for n, placeholder in enumerate(shell.placeholders)
                if placeholder.words & who or (n in live and n not in parts)
            ]
            shared = {n: part for n, part in parts.items() if n not in own}
            if own:
                return self._behind(http, lambda http: _make_response(http, visit, shell, own, shared))
            # An anonymous visitor's empty session, which is not saved.
            http.session = SessionStore()
            if all(len(part) == 1 for part in shared.values()):
                return _make_response(http, visit, shell, own, shared)
            self.csrf.process_request(http)
            response = _make_response(http, visit, shell, own, shared)
            # Sets the cookie of the token.
            self.csrf.process_response(http, response)
            return response

    def _render_anonymously(
        self, http: HttpRequest, asked: PageRequest, shell: StoredPage, live: Sequence[int]
    ) -> tuple[Sequence[str], HttpResponse]:
        http.LANGUAGE_CODE = asked.language
        fills: list[str] = []

        def answer(http: HttpRequest) -> HttpResponse:
            fills.extend(render_fragments(http, [shell.placeholders[n] for n in live], asked.target.context))
            return HttpResponse()

        return fills, self._behind(http, answer)

    def _behind(self, http: HttpRequest, answer: Handler) -> HttpResponse:
        http.__dict__[_ANSWER] = answer
        return self.middleware_chain(http)


def _call_answer(http: HttpRequest) -> HttpResponse:
    answer: Handler = http.__dict__[_ANSWER]
    return answer(http)


def _make_response(
    http: HttpRequest, visit: Visit, shell: StoredPage, own: Sequence[int], shared: fragment_cache.FragmentParts
) -> HttpResponse:
    """Return the page.

    own: the numbers of the fragments to render for this visitor. shared: the fragments that are equal for everyone.
    """
    target = visit.request.target
    # A view that the round trip of the page has counted must not count twice.
    if not visit.is_told:
        target.report_view(http)
    fills = list(shell.fills)
    if own:
        rendered = render_fragments(http, [shell.placeholders[n] for n in own], target.context)
        for n, fill in zip(own, rendered, strict=True):
            fills[n] = fill.encode()
    token = get_token(http).encode() if any(len(part) > 1 for part in shared.values()) else b""
    for n, part in shared.items():
        fills[n] = token.join(part)
    content = shell.filled(fills)
    return HttpResponse(
        content, headers={**shell.headers, "Content-Length": str(len(content)), "Cache-Control": CACHE_CONTROL}
    )


def render_fragments(http: HttpRequest, placeholders: Iterable[Fragment], values: Mapping[str, Any]) -> list[str]:
    """Return the fragments rendered for this request."""
    # The same context as that of a page, as Django's backend makes it.
    context = {**values, "request": http, "csrf_input": csrf_input_lazy(http), "csrf_token": csrf_token_lazy(http)}
    return [render_fragment(placeholder, context) for placeholder in placeholders]
