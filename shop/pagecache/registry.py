"""The registry of cached pages. All other pages are never cached."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from django.core.signals import setting_changed
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import Resolver404, get_script_prefix, resolve, reverse

from mirror.prefetch import Asked
from mirror.redis_types import RedisPipeline

MAX_TARGETS: Final = 10_000  # paths whose targets are cached
MAX_PATH_LENGTH: Final = 200  # longest path that is considered


@dataclass(frozen=True)
class CachedPage:
    """A page that may be cached: HTML, read by GET.

    Functions receive the keyword arguments of the URL.

    view: the name of the view. made_of: all reads of the page; their replies are the version of its data, so changes
    show at once. along: further reads that only fragments need. values: the context of the fragments beside the
    request, called when both kinds of reads are known. member: the page's member of ``viewed:``, which must be among
    the first to be cached; None for any page. shown: reports that the page is served. tells: does the same ahead, with
    commands in the pipeline that is sent anyway, and returns whether it did; it receives the digest of the visitor's
    session and the user's id, or None and None without a session. parameters: the query parameters that change the
    page.
    """

    view: str
    made_of: Callable[..., Asked]
    values: Callable[..., Mapping[str, Any]]
    along: Callable[..., Asked] = lambda **kwargs: Asked((), ())
    member: Callable[..., int | None] = lambda **kwargs: None
    shown: Callable[..., object] = lambda request, **kwargs: None
    tells: Callable[..., bool] = lambda pipe, request, digest, user, **kwargs: False
    parameters: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Target:
    """A page with the arguments of its URL."""

    page: CachedPage
    kwargs: Mapping[str, Any]

    @cached_property
    def member(self) -> int | None:
        """The member of ``viewed:`` that stands for this page."""
        return self.page.member(**self.kwargs)

    @cached_property
    def asked(self) -> Asked:
        """The reads of the page and its fragments."""
        own, along = self.page.made_of(**self.kwargs), self.page.along(**self.kwargs)
        return Asked(tuple(dict.fromkeys((*own.mirrors, *along.mirrors))), own.commands + along.commands)

    @cached_property
    def size(self) -> int:
        """The number of commands that the page itself reads."""
        return len(self.page.made_of(**self.kwargs).commands)

    def shown(self, request: HttpRequest) -> None:
        """Report that the page is served to this request."""
        self.page.shown(request, **self.kwargs)

    def queue_report(self, pipe: RedisPipeline, request: HttpRequest, digest: str | None, user: int | None) -> bool:
        """Report ahead that the page is about to be served. Return whether that was possible."""
        return self.page.tells(pipe, request, digest, user, **self.kwargs)

    @property
    def values(self) -> Mapping[str, Any]:
        """The context of the fragments."""
        return self.page.values(**self.kwargs)


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
