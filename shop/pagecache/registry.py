"""The registry of cached pages. All other pages are never cached."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from django.core.signals import setting_changed
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import Resolver404, get_script_prefix, resolve, reverse

from mirror.read import Asked
from mirror.redis import RedisPipeline

MAX_TARGETS: Final = 10_000  # paths whose targets are cached
MAX_PATH_LENGTH: Final = 200  # longest path that is considered


@dataclass(frozen=True)
class CachedPage:
    """A page that may be cached: HTML, read by GET.

    Functions receive the keyword arguments of the URL.

    view: the name of the view. list_reads: all reads of the page; their replies are the version of its data, so changes
    show at once. list_fragment_reads: further reads that only fragments need. build_context: the context of the
    fragments beside the request, called when both kinds of reads are known. find_member: the page's member of
    ``viewed:``, which must be among the first to be cached; None for any page. report_view: reports that the page is
    served. queue_report: does the same ahead, with commands in the pipeline that is sent anyway, and returns whether it
    did; it receives the digest of the visitor's session and the user's id, or None and None without a session.
    parameters: the query parameters that change the page.
    """

    view: str
    list_reads: Callable[..., Asked]
    build_context: Callable[..., Mapping[str, Any]]
    list_fragment_reads: Callable[..., Asked] = lambda **kwargs: Asked((), ())
    find_member: Callable[..., int | None] = lambda **kwargs: None
    report_view: Callable[..., object] = lambda request, **kwargs: None
    queue_report: Callable[..., bool] = lambda pipe, request, digest, user, **kwargs: False
    parameters: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Target:
    """A page with the arguments of its URL."""

    page: CachedPage
    kwargs: Mapping[str, Any]

    @cached_property
    def member(self) -> int | None:
        """The member of ``viewed:`` that stands for this page."""
        return self.page.find_member(**self.kwargs)

    @cached_property
    def reads(self) -> Asked:
        """The reads of the page and its fragments."""
        own, further = self.page.list_reads(**self.kwargs), self.page.list_fragment_reads(**self.kwargs)
        return Asked(tuple(dict.fromkeys((*own.mirrors, *further.mirrors))), own.commands + further.commands)

    @cached_property
    def size(self) -> int:
        """The number of commands that the page itself reads."""
        return len(self.page.list_reads(**self.kwargs).commands)

    def report_view(self, request: HttpRequest) -> None:
        """Report that the page is served to this request."""
        self.page.report_view(request, **self.kwargs)

    def queue_report(self, pipe: RedisPipeline, request: HttpRequest, digest: str | None, user: int | None) -> bool:
        """Report ahead that the page is about to be served. Return whether that was possible."""
        return self.page.queue_report(pipe, request, digest, user, **self.kwargs)

    @property
    def context(self) -> Mapping[str, Any]:
        """The context of the fragments."""
        return self.page.build_context(**self.kwargs)


_pages: Final[dict[str, CachedPage]] = {}


def register_page(page: CachedPage) -> CachedPage:
    """Add a page to the cached pages."""
    _pages[page.view] = page
    find_target.cache_clear()
    return page


def unregister_page(page: CachedPage) -> None:
    """Remove a page from the cached pages."""
    _pages.pop(page.view, None)
    find_target.cache_clear()


def list_view_names() -> list[str]:
    """Return the names of the views with cached pages."""
    return list(_pages)


@lru_cache(maxsize=MAX_TARGETS)
def find_target(path: str) -> Target | None:
    """Return the cached page at a path, or None."""
    try:
        match = resolve(path) if len(path) <= MAX_PATH_LENGTH else None
    except Resolver404:
        return None
    page = _pages.get(match.view_name) if match else None
    if match is None or page is None:
        return None
    # Accept only the canonical path. Otherwise leading zeros would give each book any number of cached pages.
    own = reverse(match.view_name, kwargs=match.kwargs)
    return Target(page, match.kwargs) if own == f"{get_script_prefix()}{path[1:]}" else None


@receiver(setting_changed)
def _clear_targets(*, setting: str, **kwargs: object) -> None:
    if setting in ("ROOT_URLCONF", "MIRROR"):
        find_target.cache_clear()
