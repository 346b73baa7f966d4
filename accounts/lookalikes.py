"""Detect names that look like other names: invisible characters, mixed scripts, and confusable letters.

This follows Unicode Technical Standard 39. The tables come from ``confusable_homoglyphs``, which has no skeletons: for
each letter it lists the prototype of all similar letters, and for a prototype all letters that are similar to it.
PyICU would need ICU's headers to build. Its tables take 6 MB, so a process loads them with the first name that it
checks. The stored skeletons are not unique, because older names may collide.
"""

import unicodedata
from collections.abc import Collection
from functools import lru_cache
from typing import Final

import idna
import regex

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
# Joiners whose places ``find_misplaced_joiner`` checks.
_joiners: Final = str.maketrans("", "", "\u200c\u200d")
# Bengali writes Ra with Ya-phalaa with a joiner before the virama (Unicode Standard, 12.2), as in the name Rachel.
_bengali_pattern = regex.compile(r"(?<=\u09B0)\u200D(?=\u09CD\u09AF)")
_joiner_pattern = regex.compile(r"[\u200C\u200D]")


def find_misplaced_joiner(name: str) -> int | None:
    """Return the index of the first joiner that does not change the shape of its neighbours, or None.

    These are the rules of RFC 5892 (and of Unicode Standard Annex 31) for Persian, and for the scripts of South Asia.
    """
    for found in _joiner_pattern.finditer(name):
        place = found.start()
        if not _bengali_pattern.match(name, place) and not _is_joiner_valid(name, place):
            return place
    return None


def _is_joiner_valid(name: str, place: int) -> bool:
    try:
        return idna.core.valid_contextj(name, place)
    except ValueError:  # a neighbour that the library does not know
        return False


def has_misleading_characters(name: str) -> bool:
    """Return whether a name has invisible characters, or letters, marks or digits that may not be mixed.

    Joiners are not looked at here, since ``find_misplaced_joiner`` accepts them only where they are visible.
    """
    from confusable_homoglyphs.categories import unique_aliases

    if _invisible_pattern.search(name.translate(_joiners)):
        return True
    shown = unicodedata.normalize("NFKC", name)
    scripts = frozenset(unique_aliases(shown)) - ANY_SCRIPT
    return "Unknown" in scripts or not _may_be_mixed(shown, scripts) or _count_digit_systems(shown) > 1


def _may_be_mixed(name: str, scripts: Collection[str]) -> bool:
    if len(scripts) <= 1:
        allowed: Collection[str] = scripts
    else:
        allowed = next((together for together in MIXABLE_SCRIPTS if together.issuperset(scripts)), ())
    if not allowed:
        return not scripts  # digits alone
    # Some marks and signs belong to no script, but are used with few of them.
    return _compile_scripts(frozenset(allowed)).fullmatch(name) is not None


@lru_cache(maxsize=256)  # the scripts of Unicode, and few mixtures
def _compile_scripts(scripts: frozenset[str]) -> regex.Pattern[str]:
    parts = "".join(rf"\p{{scx={name}}}" for name in sorted(scripts | ANY_SCRIPT))
    return regex.compile(f"[{parts}]*")


def _count_digit_systems(name: str) -> int:
    """Return the number of decimal systems of the digits: "1" and "١" are of two."""
    return len({ord(c) - unicodedata.decimal(c) for c in name if c.isdecimal()})


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
    from confusable_homoglyphs.confusables import confusables_data

    alike = confusables_data.get(letter, [])
    if len(alike) != 1:
        return letter  # the letter has no lookalike, or is itself a prototype
    other: str = alike[0]["c"]
    return other if len(confusables_data[other]) > 1 else min(letter, other)
