"""Series, as titles name them: "The Hunger Games (The Hunger Games, #1)".

Nothing is stored: the record and the entries of a book are made from its title, and so follow every way of writing it.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from catalog.names import normalise

MAX_SERIES: Final = 5  # of one book
# Between two series: a semicolon, or a comma before the name of another one.
_BETWEEN: Final = re.compile(r";|(?<=[0-9]),(?=[^#;]*[^\W\d_][^#;]*#)")
_PART: Final = re.compile(
    r"""\s* (?P<name> [^#]*? ) [\s,:]* \# \s*
    (?P<number> (?P<first> [0-9]{1,6} (?:\.[0-9]{1,3})? ) (?: \s*[-–—]\s* (?P<last> [0-9]{1,6} (?:\.[0-9]{1,3})? ) )?
    (?P<rest> .* ) ) """,
    re.VERBOSE | re.DOTALL,
)


class Series(NamedTuple):
    """A series, and which of it a book is.

    name: as the title has it. number: likewise ("1", "0.5", "1-3", "3: Part 1 of 2"). first, last: the first and the
    last volume that the book holds. is_single: whether it is just one, and whole.
    """

    name: str
    number: str
    first: float
    last: float
    is_single: bool

    @property
    def folded(self) -> str:
        """The name without what spellings differ in."""
        return normalise(self.name).removeprefix("the ")

    @property
    def is_range(self) -> bool:
        """Whether the book holds several volumes."""
        return self.last > self.first


def split_title(title: str) -> tuple[str, str]:
    """Return the title without the series at its end, and what was between those brackets, or "".

    >>> split_title("Mort (Death, #1; Discworld, #4)")
    ('Mort', 'Death, #1; Discworld, #4')
    """
    text = title.rstrip()
    start = _opening_bracket(text)
    inside = text[start + 1 : -1].strip()
    short = text[:start].rstrip()
    return (short, inside) if short and "#" in inside else (title, "")


@lru_cache(maxsize=4096)
def series_in(title: str) -> tuple[Series, ...]:
    """Return the series that a title names, each once, in its order."""
    found: dict[str, Series] = {}
    for part in _BETWEEN.split(split_title(title)[1]):
        match = _PART.fullmatch(part)
        if match is None or not match["name"]:
            continue
        first, rest = float(match["first"]), match["rest"].strip()
        last = float(match["last"] or first)
        number = " ".join(match["number"].split())
        one = Series(match["name"].strip(), number, first, max(first, last), match["last"] is None and not rest)
        found.setdefault(one.folded, one)
    return tuple(found.values())[:MAX_SERIES]


def _opening_bracket(text: str) -> int:
    """Return the place of the bracket that the last character closes; the end of the text if it closes none."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == ")") - (text[place] == "(")
        if depth <= 0:
            return place if place < len(text) - 1 else len(text)
    return len(text)
