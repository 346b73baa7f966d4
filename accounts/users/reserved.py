"""Names that nobody can register: they seem to speak for the site, or are words of its addresses."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from django.urls import URLPattern, URLResolver, get_resolver

from accounts.lookalikes import skeleton
from common.text import fold

# Names that seem to speak for the site.
_RESERVED_NAMES: Final = """
    abuse account accounts admin administrator anonymous billing checkout contact diptych everybody everyone help
    hostmaster info login logout me moderator moderators nobody none noreply null official owner payment payments
    postmaster register root security service settings signin signup staff superuser support sysadmin system team
    undefined webmaster
"""
_path_word_pattern = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_placeholder_pattern = re.compile(r"<[^>]*>|\(\?P<[^)]*\)|\\[a-zA-Z]")


def _make_loose_skeleton(name: str) -> str:
    """Return the skeleton of a name with i and l merged, because a capital I looks like both."""
    return skeleton(name).replace("i", "l")


@lru_cache(maxsize=1)
def _list_reserved_skeletons() -> frozenset[str]:
    """Return the skeletons in both cases, because a capital may look like another letter than its lower-case form."""
    spellings = (spell(name) for name in _RESERVED_NAMES.split() for spell in (str.lower, str.upper))
    return frozenset(map(_make_loose_skeleton, spellings))


def is_reserved(name: str) -> bool:
    """Return whether a name is reserved in any spelling: "Ad-min" and "adm1n" count as "admin".

    The words of addresses ("followers", "sale") are reserved without their lookalikes, since "Horne" is a name.
    """
    spellings = [re.sub(r"[\W_]", "", spelled) for spelled in (name, fold(name))]
    is_like_reserved = any(_make_loose_skeleton(spelled) in _list_reserved_skeletons() for spelled in spellings)
    return is_like_reserved or spellings[1] in list_path_words()


@lru_cache(maxsize=1)
def list_path_words() -> frozenset[str]:
    """Return the words in the addresses of all pages, folded and without hyphens, so that a new page needs no list."""
    routes = (word for route in _iterate_routes(get_resolver()) for word in _path_word_pattern.findall(route))
    return frozenset(re.sub(r"[\W_]", "", fold(word)) for word in routes)


def _iterate_routes(resolver: URLResolver) -> Iterator[str]:
    patterns: list[Any] = resolver.url_patterns
    for pattern in patterns:
        if isinstance(pattern, URLResolver | URLPattern):
            yield _placeholder_pattern.sub("/", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from _iterate_routes(pattern)
