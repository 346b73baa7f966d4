"""The normal form of tag names, and the detection of tags that say nothing about a book."""

from functools import lru_cache

import regex
from django.conf import settings

from common.text import fold


def normalise(name: str) -> str:
    """Return ``name`` folded, with single blanks for white space inside and none at the ends.

    >>> normalise("  Young  ADULT ")
    'young adult'
    """
    return " ".join(fold(name).split())


def is_hidden_name(name: str) -> bool:
    """Return whether a new tag is hidden: it states where a reader keeps a book ("to-read") or how a reader likes or
    reads it ("favorites", "audio"), and nothing about its subject.
    """
    return _compile_patterns(tuple(settings.CATALOG_HIDDEN_TAGS)).fullmatch(normalise(name)) is not None


@lru_cache(maxsize=4)
def _compile_patterns(patterns: tuple[str, ...]) -> regex.Pattern[str]:
    # Without patterns, one that matches nothing.
    return regex.compile("|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)")
