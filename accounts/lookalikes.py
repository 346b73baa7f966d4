"""Detect names that look like other names: invisible characters, mixed scripts, and confusable letters.

This follows Unicode Technical Standard 39. The tables come from ``confusable_homoglyphs``, which has no skeletons: for
each letter it lists the prototype of all similar letters, and for a prototype all letters that are similar to it.
"""

import unicodedata
from functools import lru_cache
from typing import Final

import regex
from confusable_homoglyphs.categories import unique_aliases
from confusable_homoglyphs.confusables import confusables_data

MAX_SKELETON: Final = 200
# Scripts that may be mixed ("highly restrictive" in the standard). Any other name must use a single script.
MIXABLE_SCRIPTS: Final = (
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "HAN", "BOPOMOFO"}),
    frozenset({"LATIN", "HAN", "HANGUL"}),
)
ANY_SCRIPT: Final = frozenset({"COMMON", "INHERITED"})
# The blank of Braille and the inherent vowels of Khmer are as invisible as the characters that Unicode calls ignorable.
_invisible_pattern = regex.compile(r"[\p{Default_Ignorable_Code_Point}\u2800\u17B4\u17B5]")


def has_misleading_characters(name: str) -> bool:
    """Return whether a name has invisible characters, or letters of scripts that may not be mixed."""
    scripts = frozenset(unique_aliases(unicodedata.normalize("NFKC", name))) - ANY_SCRIPT
    is_mixed = len(scripts) > 1 and not any(scripts <= together for together in MIXABLE_SCRIPTS)
    return is_mixed or "Unknown" in scripts or _invisible_pattern.search(name) is not None


def skeleton(name: str) -> str:
    """Return the skeleton of a name: a text that is equal for all names that look alike. It is not for display.

    >>> skeleton("paypa1") == skeleton("p\\u0430ypal")
    True
    """
    shown = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", _invisible_pattern.sub("", name)))
    prototypes = "".join(map(_find_prototype, shown))
    return unicodedata.normalize("NFKC", prototypes.casefold())[:MAX_SKELETON]


@lru_cache(maxsize=10_000)
def _find_prototype(letter: str) -> str:
    alike = confusables_data.get(letter, [])
    if len(alike) != 1:
        return letter  # the letter has no lookalike, or is itself a prototype
    other: str = alike[0]["c"]
    return other if len(confusables_data[other]) > 1 else min(letter, other)
