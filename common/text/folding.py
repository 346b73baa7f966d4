"""Fold text: the form that all spellings of a name, tag, hashtag or searched word share.

Every stored folded column, every key in Redis and every lookup uses ``fold``, so that all agree. SQL never folds text:
LOWER and UPPER of the two databases differ outside ASCII. A change of ``fold`` needs a migration of the
columns (as three migrations called fold_again do it) and higher versions of the mirrors that use it.
"""

import unicodedata
from typing import Final

import regex

MAX_FOLDED: Final = 2000  # code points that are folded; no query is longer

# Invisible characters do not distinguish two texts: joiners, variation selectors, direction marks, soft hyphens.
_ignorable_pattern = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
# The lower case of a Turkish İ outside Turkish, which an i followed by a dot also shows as a plain i.
_dot_pattern = regex.compile(r"(?<=\p{Soft_Dotted})\u0307+")
# Turkish pairs İ with i and I with ı, all other languages pair I with i. A text does not tell its language, so only one
# letter for all four gives every reader the same name in capitals: the price is that "kır" and "kir" are one hashtag.
# Keyboards differ in their apostrophes (O’Brien, Oʻzbek) and hyphens, which no name or tag differs in.
_ONE_LETTER: Final = str.maketrans({"ı": "i", **dict.fromkeys("‘’ʻʼ", "'"), "‐": "-"})


def fold(text: str) -> str:
    """Return the form that all spellings of a text share: NFKC_Casefold of Unicode, with one i, apostrophe and hyphen.

    Only the first ``MAX_FOLDED`` code points count: normalising may take quadratic time, and no name is that long.
    Folding a folded text changes nothing.

    >>> fold("İSMAİL") == fold("ismail") == fold("ISMAIL")
    True
    """
    text = text[:MAX_FOLDED]
    if text.isascii():  # no step but the change of case concerns ASCII
        return text.lower()
    text = unicodedata.normalize("NFKC", _ignorable_pattern.sub("", text))
    text = unicodedata.normalize("NFKC", _ignorable_pattern.sub("", text).casefold())
    return unicodedata.normalize("NFKC", _dot_pattern.sub("", text.translate(_ONE_LETTER)))


def fold_address(address: str) -> str:
    """Return the form of an email address for comparisons: only its case is ignored.

    ``fold`` would be wrong here, because "mıke@example.org" is another mailbox than "mike@example.org".
    """
    return unicodedata.normalize("NFC", address[:MAX_FOLDED]).lower()
