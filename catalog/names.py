"""How names are written down, so that one tag has one name."""

import unicodedata


def normalise(name: str) -> str:
    """``name`` in NFKC, case-folded, with runs of white space as one blank and none at the ends.

    >>> normalise("  Young  ADULT ")
    'young adult'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())
