"""Keys that sort titles as Unicode's collation algorithm does: É with E, Ø with O, capitals with small letters.

The databases collate differently, each other's versions included, and SQLite only by code point. So Python computes a
key of ASCII characters, which every database, Redis and Python sort alike.
"""

from functools import lru_cache
from typing import Final

from pyuca import Collator

MAX_KEY_LENGTH: Final = 1000  # characters; PostgreSQL indexes less than 2,700 bytes
MAX_COLLATED: Final = 200  # characters of the title; later ones hardly ever decide
LEVELS: Final = 3  # letters, accents and case; the library's fourth level is not used
# The smallest weight of each level. A level may lack it at its end without a change of the order.
_SMALLEST_WEIGHTS: Final = ("", "\x20", "\x02")


@lru_cache(maxsize=1)
def _load_collator() -> Collator:
    """Load the table of weights, which takes a third of a second and is needed only where titles are written."""
    return Collator()


@lru_cache(maxsize=1)
def _load_ascii_weights() -> list[dict[int, str]]:
    """Return the weights of each ASCII character by level. None of them forms a unit with its neighbours."""
    weighed = {code: _weigh(chr(code)) for code in range(128)}
    return [{code: levels[level] for code, levels in weighed.items()} for level in range(LEVELS)]


def _weigh(text: str) -> list[str]:
    """Return the weights of ``text`` level by level, each weight as the character with this code."""
    weights = "".join(map(chr, _load_collator().sort_key(text)))
    return weights.split("\0")[:LEVELS]


def make_sort_key(text: str) -> str:
    """Return the key of ``text``: its weights in hexadecimal digits, level by level, with dots between the levels.

    >>> sorted(["Zola", "Émile", "eat", "Orb", "Øre"], key=make_sort_key)
    ['eat', 'Émile', 'Orb', 'Øre', 'Zola']
    """
    text = text[:MAX_COLLATED]
    # The library takes 0.1 ms for a title. Most titles are ASCII, and a rebuild needs the keys of all.
    levels = [text.translate(weights) for weights in _load_ascii_weights()] if text.isascii() else _weigh(text)
    shown = [level.rstrip(smallest) for level, smallest in zip(levels, _SMALLEST_WEIGHTS, strict=True)]
    # Four digits a weight; weights may have the codes of surrogates.
    return ".".join(level.encode("utf-16-be", "surrogatepass").hex() for level in shown)[:MAX_KEY_LENGTH]
