"""Which pages are remembered. All others never are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from django.core.signals import setting_changed
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import Resolver404, get_script_prefix, resolve, reverse

from mirror.prefetch import Asked

MANY: Final = 10_000  # addresses whose meaning is remembered
LONGEST: Final = 200  # characters of an address that is looked at


@dataclass(frozen=True)
class Page:
    """A page that may be remembered: HTML, read by GET.

    view: its name. made_of: all that it reads; what that says is the page's data version, so that a change of it shows
    at once. along: what its view reads for its holes alone. values: what its holes are given beside the request (it is
    called where both are known already). member: what the page is of, in ``viewed:``, among whose first it has to be;
    None: any. shown: tells whom it concerns that it is served; tells: does so beforehand, by adding commands to
    the pipeline that is sent anyway, and returns whether it did (it is given the digest of the visitor's session and
    whose it is; None and None for who has none). parameters: those of its query that change it.
    Functions are given the keyword arguments of the address.
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
    """A page, and of what. It is remembered by its address, and so is what it asks."""

    page: Page
    kwargs: Mapping[str, Any]

    @cached_property
    def member(self) -> int | None:
        """Whose rank matters."""
        return self.page.member(**self.kwargs)

    @cached_property
    def asked(self) -> Asked:
        """What the page and its holes are made of."""
        own, along = self.page.made_of(**self.kwargs), self.page.along(**self.kwargs)
        return Asked(tuple(dict.fromkeys((*own.mirrors, *along.mirrors))), own.commands + along.commands)

    @cached_property
    def size(self) -> int:
        """How many of its commands the page is made of."""
        return len(self.page.made_of(**self.kwargs).commands)

    def shown(self, request: HttpRequest) -> None:
        """It is served, to whoever sent this request."""
        self.page.shown(request, **self.kwargs)

    def tells(self, pipe: Any, request: HttpRequest, digest: str | None, user: int | None) -> bool:
        """It is about to be served."""
        return self.page.tells(pipe, request, digest, user, **self.kwargs)

    @property
    def values(self) -> Mapping[str, Any]:
        """What its holes are given."""
        return self.page.values(**self.kwargs)


_pages: Final[dict[str, Page]] = {}


def register(page: Page) -> Page:
    """Have ``page`` remembered."""
    _pages[page.view] = page
    target_of.cache_clear()
    return page


def unregister(page: Page) -> None:
    """Have it remembered no more."""
    _pages.pop(page.view, None)
    target_of.cache_clear()


def views() -> list[str]:
    """The names of the views whose pages are remembered."""
    return list(_pages)


@lru_cache(maxsize=MANY)
def target_of(path: str) -> Target | None:
    """What is at an address, if it may be remembered."""
    try:
        match = resolve(path) if len(path) <= LONGEST else None
    except Resolver404:
        return None
    page = _pages.get(match.view_name) if match else None
    if match is None or page is None:
        return None
    # As the site itself writes it: else one book had as many pages as its number can be written with zeros before it.
    own = reverse(match.view_name, kwargs=match.kwargs)
    return Target(page, match.kwargs) if own == f"{get_script_prefix()}{path[1:]}" else None


@receiver(setting_changed)
def _forget(*, setting: str, **kwargs: object) -> None:
    if setting in ("ROOT_URLCONF", "MIRROR"):
        target_of.cache_clear()
