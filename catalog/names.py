"""How names are written down, so that one tag has one name; and which names are those of readers' own shelves."""

import unicodedata
from functools import lru_cache

import regex
from django.conf import settings


def normalise(name: str) -> str:
    """``name`` in NFKC, case-folded, with runs of white space as one blank and none at the ends.

    >>> normalise("  Young  ADULT ")
    'young adult'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


def is_shelf_name(name: str) -> bool:
    """Return whether a tag's name says where a reader keeps a book, and nothing about the book ("to-read")."""
    return _pattern(tuple(settings.CATALOG_HIDDEN_TAGS)).fullmatch(normalise(name)) is not None


@lru_cache(maxsize=4)
def _pattern(patterns: tuple[str, ...]) -> regex.Pattern[str]:
    return regex.compile("|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)")
