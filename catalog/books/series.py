"""Series that titles name: "The Hunger Games (The Hunger Games, #1)".

SQL stores no series. The record and the entries of a book are computed from its title, and so follow every write; raw
SQL could make a table of series wrong, and no generated column of both databases splits several series.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from catalog.names import normalise

MAX_SERIES: Final = 5  # of one book
# The separator of two series: a semicolon, or a comma before the name of another series.
_SEPARATOR: Final = re.compile(r";|(?<=[0-9]),(?=[^#;]*[^\W\d_][^#;]*#)")
_SERIES_PATTERN: Final = re.compile(
    r"""\s* (?P<name> [^#]*? ) [\s,:]* \# \s*
    (?P<number> (?P<first> [0-9]{1,6} (?:\.[0-9]{1,3})? ) (?: \s*[-–—]\s* (?P<last> [0-9]{1,6} (?:\.[0-9]{1,3})? ) )?
    (?P<rest> .* ) ) """,
    re.VERBOSE | re.DOTALL,
)


class Series(NamedTuple):
    """A series, and the volumes of it that a book contains.

    name: as in the title. number: as in the title ("1", "0.5", "1-3", "3: Part 1 of 2"). first, last: the first and
    the last volume in the book. is_single: whether the book is exactly one complete volume.
    """

    name: str
    number: str
    first: float
    last: float
    is_single: bool

    @property
    def normalised_name(self) -> str:
        """The name in a form in which different spellings are equal."""
        return normalise(self.name).removeprefix("the ")

    @property
    def is_range(self) -> bool:
        """Whether the book contains several volumes."""
        return self.last > self.first


def split_title(title: str) -> tuple[str, str]:
    """Return the title without the series at its end, and the text in the brackets of the series, or "".

    >>> split_title("Mort (Death, #1; Discworld, #4)")
    ('Mort', 'Death, #1; Discworld, #4')
    """
    text = title.rstrip()
    start = _find_opening_bracket(text)
    inside = text[start + 1 : -1].strip()
    short = text[:start].rstrip()
    return (short, inside) if short and "#" in inside else (title, "")


@lru_cache(maxsize=4096)
def parse_series(title: str) -> tuple[Series, ...]:
    """Return the series that a title names, in the title's order and without repetition."""
    found: dict[str, Series] = {}
    for part in _SEPARATOR.split(split_title(title)[1]):
        match = _SERIES_PATTERN.fullmatch(part)
        if match is None or not match["name"]:
            continue
        first, rest = float(match["first"]), match["rest"].strip()
        last = float(match["last"] or first)
        number = " ".join(match["number"].split())
        # A last volume below the first ("#5-1") is a mistake of the title, and counts as the first.
        one = Series(match["name"].strip(), number, first, max(first, last), match["last"] is None and not rest)
        found.setdefault(one.normalised_name, one)
    return tuple(found.values())[:MAX_SERIES]


def _find_opening_bracket(text: str) -> int:
    """Return the index of the bracket that the last character closes, or the length of the text."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == ")") - (text[place] == "(")
        if depth <= 0:
            return place if place < len(text) - 1 else len(text)
    return len(text)
