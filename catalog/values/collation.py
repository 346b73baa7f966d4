"""Keys that sort titles as Unicode's collation algorithm does: É with E, Ø with O, capitals with small letters.

The databases collate differently, each other's versions included, and SQLite only by code point. So Python computes a
key of ASCII characters, which every database, Redis and Python sort alike.
"""

from functools import lru_cache
from typing import Final

from pyuca import Collator

MAX_KEY_LENGTH: Final = 1000  # characters; PostgreSQL indexes less than 2,700 bytes
MAX_COLLATED: Final = 200  # characters of the title; later ones hardly ever decide
# The smallest weights of letters, accents and case. A level may lack them at its end without a change of the order.
_DEFAULT_WEIGHTS: Final = ("", "0020", "0002")


@lru_cache(maxsize=1)
def _load_collator() -> Collator:
    """Load the table of weights, which takes a third of a second and is needed only where titles are written."""
    return Collator()


def make_sort_key(text: str) -> str:
    """Return the key of ``text``: its weights in hexadecimal digits, level by level, with dots between the levels.

    >>> sorted(["Zola", "Émile", "eat", "Orb", "Øre"], key=make_sort_key)
    ['eat', 'Émile', 'Orb', 'Øre', 'Zola']
    """
    levels, weights = [], list(_load_collator().sort_key(text[:MAX_COLLATED]))
    for default in _DEFAULT_WEIGHTS:
        end = weights.index(0) if 0 in weights else len(weights)
        level = [f"{weight:04x}" for weight in weights[:end]]
        weights = weights[end + 1 :]
        # Without the smallest weights at its end a key is shorter, and the order stays the same.
        while level and level[-1] == default:
            level.pop()
        levels.append("".join(level))
    return ".".join(levels)[:MAX_KEY_LENGTH]
