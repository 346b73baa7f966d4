"""Public pages: for visitors without a session, the page cache (``shop.pagecache``) stores them.

A view opts in with one line, and reads its data by ``mirror``:

>>> @public_page("after")
... def global_timeline(request): ...

The stored page is served while everything that it was made of is unchanged in Redis. What follows from the time has to
be named by ``limit_life``.
"""

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

View = TypeVar("View", bound=Callable[..., Any])
_ATTRIBUTE: Final = "public_page"


@dataclass(frozen=True)
class PublicPage:
    """The declaration of a public page. list_parameters: returns the names of the parameters that change the page."""

    list_parameters: Callable[[], Collection[str]]

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of the parameters that change the page. All others are ignored."""
        return frozenset(self.list_parameters())


def public_page(*parameters: str, more: Callable[[], Collection[str]] = tuple) -> Callable[[View], View]:
    """Declare that a view shows the same to all visitors without a session.

    parameters: those of the query string that change the page. more: returns further ones, when all applications are
    loaded.
    """

    def declare(view: View) -> View:
        # An attribute, so that decorators of Django, which copy attributes, may stand before this one.
        setattr(view, _ATTRIBUTE, PublicPage(lambda: (*parameters, *more())))
        return view

    return declare


def find_declaration(view: Callable[..., Any]) -> PublicPage | None:
    """Return the declaration of a view, or None if its page is not public."""
    return getattr(view, _ATTRIBUTE, None)


@dataclass
class Life:
    """How long the page that is being rendered may be served, in seconds; None: as long as any page."""

    seconds: float | None = None


_current_life: ContextVar[Life | None] = ContextVar("page_life", default=None)


@contextmanager
def measure_life() -> Generator[Life, None, None]:
    """Collect the limits of the page that is rendered in the block."""
    life = Life()
    token = _current_life.set(life)
    try:
        yield life
    finally:
        _current_life.reset(token)


def limit_life(seconds: float) -> None:
    """State that the page being rendered shows something that may be different after ``seconds``."""
    life = _current_life.get()
    # None: the page is rendered for one visitor, and not stored.
    if life is not None:
        # The earliest limit counts, because after it some part of the page is wrong.
        life.seconds = seconds if life.seconds is None else min(seconds, life.seconds)
