"""Names that look like other names: characters that do not show, mixed scripts, and letters that look alike.

After Unicode Technical Standard 39. The tables are those of ``confusable_homoglyphs``, which has no skeletons: it lists
for each letter the one that stands for all that look like it (the prototype), and for a prototype all of these.
"""

import unicodedata
from functools import lru_cache
from typing import Final

import regex
from confusable_homoglyphs.categories import unique_aliases
from confusable_homoglyphs.confusables import confusables_data

MAX_SKELETON: Final = 200
# Scripts that are written together ("highly restrictive" in the standard); other names have one script.
TOGETHER: Final = (
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "HAN", "BOPOMOFO"}),
    frozenset({"LATIN", "HAN", "HANGUL"}),
)
ANY_SCRIPT: Final = frozenset({"COMMON", "INHERITED"})
# The blank of Braille and the vowel fillers of Khmer show as little as what Unicode lets programs ignore.
_invisible = regex.compile(r"[\p{Default_Ignorable_Code_Point}\u2800\u17B4\u17B5]")


def has_odd_characters(name: str) -> bool:
    """Return whether a name has characters that do not show, or letters of scripts that are not written together."""
    scripts = frozenset(unique_aliases(unicodedata.normalize("NFKC", name))) - ANY_SCRIPT
    is_mixed = len(scripts) > 1 and not any(scripts <= together for together in TOGETHER)
    return is_mixed or "Unknown" in scripts or _invisible.search(name) is not None


def skeleton(name: str) -> str:
    """Return what all names that look like this one have in common. It is not for people to read.

    >>> skeleton("paypa1") == skeleton("p\\u0430ypal")
    True
    """
    shown = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", _invisible.sub("", name)))
    prototypes = "".join(map(_prototype, shown))
    return unicodedata.normalize("NFKC", prototypes.casefold())[:MAX_SKELETON]


@lru_cache(maxsize=10_000)
def _prototype(letter: str) -> str:
    alike = confusables_data.get(letter, [])
    if len(alike) != 1:
        return letter  # alone, or the prototype of several
    other: str = alike[0]["c"]
    return other if len(confusables_data[other]) > 1 else min(letter, other)
