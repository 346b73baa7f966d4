"""What is on a drawn cover. Pages draw it as SVG, and link previews as PNG. A book always gets the same cover.

A cover is 120 units wide and 180 high.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from catalog.books.series import split_title
from catalog.covers.designs import LAYOUTS, Layout, get_design
from catalog.covers.lettering import AUTHOR_SIZES, LINE_HEIGHT, TITLE_SIZES, fit_text
from catalog.covers.motifs import MOTIFS

T = TypeVar("T")

AUTHOR_HEIGHT: Final = 16.0  # units; a higher block would meet the title


class CoverFacts(NamedTuple):
    """All that a cover depends on. author: the first one, or "". picture: the name of the uploaded one, or ""."""

    book: int
    title: str
    author: str = ""
    design: str = ""
    picture: str = ""


def read_cover_facts(book: Mapping[str, Any]) -> CoverFacts:
    """Return the facts of a record that has at least an id and a title."""
    author = next(iter(book.get("authors", ())), "")
    return CoverFacts(book["id"], book["title"], author, book.get("design", ""), book.get("cover", ""))


class CoverLine(NamedTuple):
    """A line of text on a cover. x, y: of its base line, in units of the cover. kind: its classes."""

    kind: str
    size: float
    x: float
    y: float
    anchor: str
    text: str


class CoverPlan(NamedTuple):
    """Everything on a drawn cover. motif: its shapes, or "". cloth: the number of its colours."""

    layout: Layout
    motif: str
    cloth: int
    texture: str
    typeface: str
    lines: list[CoverLine]


def plan_cover(facts: CoverFacts) -> CoverPlan:
    """Return the layout, the design, the colours and the text of a book's cover."""
    # Consecutive ids get different covers.
    mixed = (facts.book * 2654435761 >> 7) & 0xFFFF
    design = get_design(facts.design)
    mixed, layout = _choose(mixed, LAYOUTS)
    mixed, cloth = _choose(mixed, design.cloths)
    mixed, name = _choose(mixed, design.motifs)
    _, typeface = _choose(mixed, design.typefaces)
    # What a motif cuts out shows the shape behind it.
    motif = MOTIFS.get(name, "").replace('"cloth"', f'"{layout.behind}"')
    lines = [*_plan_title(facts, layout), *_plan_author(facts, layout)]
    return CoverPlan(layout, motif, cloth, design.texture, typeface, lines)


def _choose(mixed: int, options: Sequence[T]) -> tuple[int, T]:
    """Return the rest of a number, and the option that its beginning chooses."""
    rest, chosen = divmod(mixed, len(options))
    return rest, options[chosen]


def _plan_title(facts: CoverFacts, layout: Layout) -> list[CoverLine]:
    size, lines = fit_text(split_title(facts.title)[0], TITLE_SIZES, layout.width, layout.height)
    y = layout.top + size
    if layout.anchor == "middle":
        y += (layout.height - len(lines) * size * LINE_HEIGHT) / 2
    return [_place("title", size, y + n * size * LINE_HEIGHT, layout, line) for n, line in enumerate(lines)]


def _plan_author(facts: CoverFacts, layout: Layout) -> list[CoverLine]:
    size, lines = fit_text(facts.author, AUTHOR_SIZES, layout.width, AUTHOR_HEIGHT)
    first = layout.author - (len(lines) - 1) * size * LINE_HEIGHT
    return [_place("author", size, first + n * size * LINE_HEIGHT, layout, line) for n, line in enumerate(lines)]


def _place(text: str, size: float, y: float, layout: Layout, line: str) -> CoverLine:
    kind = f"cover-{text} on-label" if text in layout.on_label else f"cover-{text}"
    x = layout.left if layout.anchor == "start" else layout.left + layout.width / 2
    return CoverLine(kind, size, x, y, layout.anchor, line)
