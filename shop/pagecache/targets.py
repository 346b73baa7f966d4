"""Find the public page at a path."""

from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from django.core.signals import setting_changed
from django.dispatch import receiver
from django.urls import Resolver404, get_script_prefix, resolve, reverse

from common.public_pages import PublicPage, find_declaration

MAX_TARGETS: Final = 10_000  # paths whose targets are remembered
MAX_PATH_LENGTH: Final = 200  # longest path that is considered
BOOK_VIEW: Final = "catalog:book"


class Target(NamedTuple):
    """A public page with its address. book_id: of the page of a book."""

    page: PublicPage
    view: str
    book_id: int | None


@lru_cache(maxsize=MAX_TARGETS)
def find_target(path: str) -> Target | None:
    """Return the public page at a path, or None."""
    try:
        match = resolve(path) if len(path) <= MAX_PATH_LENGTH else None
    except Resolver404:
        return None
    page = find_declaration(match.func) if match else None
    if match is None or page is None:
        return None
    # Only the canonical path. Otherwise leading zeros would give each book any number of stored pages.
    canonical = unquote(reverse(match.view_name, args=match.args, kwargs=match.kwargs))
    if canonical != f"{get_script_prefix()}{path[1:]}":
        return None
    return Target(page, match.view_name, match.kwargs["pk"] if match.view_name == BOOK_VIEW else None)


@receiver(setting_changed)
def _clear_targets(*, setting: str, **kwargs: object) -> None:
    if setting in ("ROOT_URLCONF", "MIRROR"):
        find_target.cache_clear()
