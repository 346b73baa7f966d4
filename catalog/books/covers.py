"""Drawn book covers: the site ships and fetches no pictures. A book always gets the same cover.

A cover is 120 units wide and 180 high. Colours are classes (``static/css/shelf.css``) and sizes are attributes,
because the content security policy forbids style attributes.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from catalog.books.series import split_title

CLOTH_COUNT: Final = 10
HYPHENATED_PARTS: Final = re.compile(r"[^-]+-*|-+")
FONT_SIZES: Final = (17.0, 15.0, 13.0, 11.5, 10.0, 9.0, 8.0)
AUTHOR_SIZES: Final = (8.0, 7.5, 7.0, 6.5)
MAX_AUTHOR_LINES: Final = 2  # more would meet the title
LINE_HEIGHT: Final = 1.2

NARROW_CHARACTERS: Final = frozenset(" .,:;'’!|()[]-ijlftrI")
WIDE_CHARACTERS: Final = frozenset("mwMWQGOD@%&—…")


class Layout(NamedTuple):
    """The layout of a cover: the shapes behind the text, and the box for the title."""

    ground: str
    left: float
    width: float
    top: float
    height: float
    author: float  # the y coordinate of the author's base line
    anchor: str = "middle"
    on_label: bool = False  # the title is printed on paper


LAYOUTS: Final = (
    Layout(  # a paper label
        '<path class="label" d="M14 34h92v78H14z"/><path class="rule" d="M17 37h86v72H17z"/>',
        20, 80, 40, 66, 160, on_label=True,
    ),
    Layout(  # a frame in a frame
        '<path class="rule" d="M8 8h104v164H8zM12 12h96v156H12z"/><path class="rule" d="M48 136h24"/>',
        18, 84, 26, 98, 156,
    ),
    Layout(  # two panels, hinged
        '<path class="shade" d="M0 0h120v62H0z"/><path class="rule" d="M0 62h120"/>',
        12, 96, 70, 76, 164, "start",
    ),
    Layout(  # a bound spine
        '<path class="shade" d="M0 0h16v180H0z"/><path class="rule" d="M16 0v180M28 150h30"/>',
        28, 82, 16, 110, 164, "start",
    ),
    Layout(  # a disc over the title
        '<circle class="foil" cx="60" cy="42" r="19"/><circle class="cloth" cx="67" cy="38" r="16"/>',
        12, 96, 72, 74, 164,
    ),
    Layout(  # stripes above and below
        '<path class="foil" d="M0 14h120v5H0zM0 23h120v1.5H0zM0 140h120v1.5H0z"/>',
        12, 96, 34, 98, 160,
    ),
)  # fmt: skip


def measure_width(text: str) -> float:
    """Return the width of ``text`` in em, in the widest of the site's serif fonts. It never underestimates."""
    return sum(map(_measure_character, text))


@lru_cache(maxsize=4096)
def _measure_character(char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    if char in NARROW_CHARACTERS:
        return 0.44
    if unicodedata.east_asian_width(char) in "WF":
        return 1.0
    if char in WIDE_CHARACTERS:
        return 1.06
    return 0.84 if char.isupper() else 0.68


def _shorten(text: str, room: float) -> str:
    """Return ``text``, shortened to ``room`` em with an ellipsis if necessary."""
    if measure_width(text) <= room:
        return text
    while text and measure_width(text + "…") > room:
        text = text[:-1]
    return text.rstrip() + "…"


def _split_pieces(title: str, room: float) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a title, each after the text that joins it to the previous piece: " ", or "" inside a word.

    Words wider than ``room`` em are split at their hyphens, or anywhere.
    """
    for word in title.split():
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


def _has_room(title: str, room: float) -> bool:
    """Return whether no line of the title needs a break inside a word, except at hyphens."""
    for word in title.split():
        for part in HYPHENATED_PARTS.findall(word):
            if measure_width(part) > room and not _breaks_anywhere(part):
                return False
    return True


def _breaks_anywhere(word: str) -> bool:
    # Chinese and Japanese have no blanks, and their lines end after any character.
    return any(unicodedata.east_asian_width(char) in "WF" for char in word)


def wrap_title(title: str, room: float) -> list[str]:
    """Return the lines of a title, each at most ``room`` em wide."""
    lines: list[str] = []
    for joint, piece in _split_pieces(title, room):
        if lines and measure_width(lines[-1] + joint + piece) <= room:
            lines[-1] += joint + piece
        else:
            lines.append(piece)
    return lines


def _fit_title(title: str, width: float, height: float) -> tuple[float, list[str]]:
    """Return the largest font size at which the title fits its box, and its lines.

    A title that fits at no size gets the smallest size and is cut.
    """
    smallest = FONT_SIZES[-1]
    for size in FONT_SIZES:
        room = width / size
        lines = wrap_title(title, room)
        is_low_enough = len(lines) * size * LINE_HEIGHT <= height
        if is_low_enough and (size == smallest or _has_room(title, room)):
            return size, lines
    max_lines = int(height // (smallest * LINE_HEIGHT))
    kept, rest = lines[: max_lines - 1], lines[max_lines - 1 :]
    kept.append(_shorten(" ".join(rest), width / smallest))
    return smallest, kept


def _fit_author(author: str, width: float) -> tuple[float, list[str]]:
    """Return the largest font size at which the author's name fits on two lines, and its lines.

    One line at a smaller size is better than two. Only a name that fits at no size is cut.
    """
    for size in AUTHOR_SIZES:
        if measure_width(author) * size <= width:
            return size, [author] if author else []
    for size in AUTHOR_SIZES:
        lines = wrap_title(author, width / size)
        if len(lines) <= MAX_AUTHOR_LINES and _has_room(author, width / size):
            return size, lines
    smallest = AUTHOR_SIZES[-1]
    first, *rest = wrap_title(author, width / smallest)
    return smallest, [first, _shorten(" ".join(rest), width / smallest)]


class CoverLine(NamedTuple):
    """A line of text on a cover. x, y: of its base line, in units of the cover. kind: its classes."""

    kind: str
    size: float
    x: float
    y: float
    anchor: str
    text: str


class CoverPlan(NamedTuple):
    """Everything on a cover. cloth: the number of its colours."""

    layout: Layout
    cloth: int
    lines: list[CoverLine]


def plan_cover(book_id: int, title: str, author: str) -> CoverPlan:
    """Return the layout, the colours and the text of a book's cover."""
    # Consecutive ids get different covers.
    mixed = (book_id * 2654435761 >> 7) & 0xFFFF
    cut = LAYOUTS[mixed % len(LAYOUTS)]
    size, lines = _fit_title(split_title(title)[0], cut.width, cut.height)
    x = cut.left if cut.anchor == "start" else cut.left + cut.width / 2
    y = cut.top + size
    if cut.anchor == "middle":
        y += (cut.height - len(lines) * size * LINE_HEIGHT) / 2
    kind = "cover-title on-label" if cut.on_label else "cover-title"
    texts = []
    for n, line in enumerate(lines):
        base_line = y + n * size * LINE_HEIGHT
        texts.append(CoverLine(kind, size, x, base_line, cut.anchor, line))
    author_size, author_lines = _fit_author(author, cut.width)
    for n, line in enumerate(reversed(author_lines)):
        texts.append(
            CoverLine("cover-author", author_size, x, cut.author - n * author_size * LINE_HEIGHT, cut.anchor, line)
        )
    return CoverPlan(cut, mixed // len(LAYOUTS) % CLOTH_COUNT, texts)


def _render_line(line: CoverLine) -> str:
    start = "" if line.anchor == "start" else ' text-anchor="middle"'
    return (
        f'<text class="{line.kind}" font-size="{line.size:g}" x="{line.x:g}" y="{line.y:.4g}"{start}>'
        f"{escape(line.text)}</text>"
    )


@lru_cache(maxsize=4096)
def draw_cover(book_id: int, title: str, author: str) -> SafeString:
    """Return the cover of a book as SVG. Screen readers skip it: the page has title and author as text."""
    plan = plan_cover(book_id, title, author)
    texts = "".join(map(_render_line, plan.lines))
    return mark_safe(
        f'<svg class="cover cloth-{plan.cloth}" viewBox="0 0 120 180" aria-hidden="true" focusable="false">'
        f'<path class="cloth" d="M0 0h120v180H0z"/>{plan.layout.ground}{texts}</svg>'
    )
