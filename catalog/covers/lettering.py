"""The text of drawn covers: its lines, and sizes at which these fit. No text is cut."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from re import compile as compile_pattern
from typing import Final, NamedTuple

from catalog.covers.widths import WIDTHS

HYPHENATED_PARTS: Final = compile_pattern(r"[^-]+-*|-+")
LINE_HEIGHT: Final = 1.2
BALANCE_STEP: Final = 0.5  # em


class Sizes(NamedTuple):
    """Font sizes to try, the largest first. whole: the smallest one at which a word is not broken. single, cjk_single:
    the smallest at which one line is better than two of a larger size, and that for text without blanks.

    The smallest of all fits the longest text that SQL allows.
    """

    all: tuple[float, ...]
    whole: float
    single: float
    cjk_single: float


TITLE_SIZES: Final = Sizes(
    (22.0, 19.5, 17.0, 15.0, 13.0, 11.5, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0),
    whole=8.0,
    single=17.0,
    cjk_single=15.0,
)
AUTHOR_SIZES: Final = Sizes(
    (8.0, 7.5, 7.0, 6.5, 6.0, 5.5, 5.0, 4.0, 3.0, 2.0, 1.0), whole=5.0, single=6.5, cjk_single=6.5
)


def measure_width(text: str) -> float:
    """Return the width of ``text`` in em, in the wider one of the site's fonts. Of other letters it is an estimate."""
    return sum(map(_measure_character, text))


@lru_cache(maxsize=4096)
def _measure_character(char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    if char in WIDTHS:
        return WIDTHS[char]
    if unicodedata.east_asian_width(char) in "WF":
        return 1.0
    return 0.84 if char.isupper() else 0.68


def _split_pieces(text: str, room: float) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a text, each after the text that joins it to the previous piece: " ", or "" inside a word.

    Words wider than ``room`` em are split at their hyphens, or anywhere.
    """
    for word in text.split():
        parts = [word]
        if measure_width(word) > room:
            parts = HYPHENATED_PARTS.findall(word)
        joint = " "
        for part in parts:
            rest = part
            while rest:
                end = _find_end(rest, room)
                yield joint, rest[:end]
                joint, rest = "", rest[end:]


def _find_end(text: str, room: float) -> int:
    """Return the number of characters of ``text`` that fit into ``room`` em."""
    # At least one, or a character wider than the room would be split off for ever.
    for end in range(1, len(text)):
        if measure_width(text[: end + 1]) > room:
            return end
    return len(text)


def _has_room(text: str, room: float) -> bool:
    """Return whether no line of the text needs a break inside a word, except at hyphens."""
    for word in text.split():
        for part in HYPHENATED_PARTS.findall(word):
            if measure_width(part) > room and not _breaks_anywhere(part):
                return False
    return True


def _breaks_anywhere(word: str) -> bool:
    # Chinese and Japanese have no blanks, and their lines end after any character.
    return any(unicodedata.east_asian_width(char) in "WF" for char in word)


def wrap_text(text: str, room: float) -> list[str]:
    """Return the lines of a text, each at most ``room`` em wide."""
    lines: list[str] = []
    for joint, piece in _split_pieces(text, room):
        if lines and measure_width(lines[-1] + joint + piece) <= room:
            lines[-1] += joint + piece
        else:
            lines.append(piece)
    return lines


def fit_text(text: str, sizes: Sizes, width: float, height: float) -> tuple[float, list[str]]:
    """Return the largest font size at which the text fits its box, and its lines.

    One line at a smaller size is better than two, as long as words stay readable.
    """
    single = sizes.cjk_single if _breaks_anywhere(text) else sizes.single
    for size in sizes.all:
        if size >= single and measure_width(text) * size <= width:
            return size, wrap_text(text, width / size)
    lines: list[str] = []
    for size in sizes.all:
        room = width / size
        lines = wrap_text(text, room)
        if len(lines) * size * LINE_HEIGHT <= height and (size < sizes.whole or _has_room(text, room)):
            return size, _balance(text, lines)
    return sizes.all[-1], lines


def _balance(text: str, lines: list[str]) -> list[str]:
    """Return the same number of lines, of nearly equal width if they may end after any character."""
    if len(lines) < 2 or not _breaks_anywhere(text):
        return lines
    room = measure_width(text) / len(lines)
    widest = max(map(measure_width, lines))
    while room < widest:
        balanced = wrap_text(text, room)
        if len(balanced) == len(lines) and _has_room(text, room):
            return balanced
        room += BALANCE_STEP
    return lines
