"""The picture of a reader's year, to share: figures and a bar for each month, in the colours of drawn covers.

The text is English, because the font has no Chinese letters, and names that it cannot write are left out.
"""

from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from io import BytesIO
from typing import Final, NamedTuple

from PIL import Image, ImageDraw

from catalog.covers.images import CLOTHS, SIZE, can_write, darken, load_font
from catalog.readings.statistics import YearStatistics

MARGIN: Final = 70  # pixels
CHART_TOP: Final = 390
CHART_BOTTOM: Final = 550
MAX_CACHED_PICTURES: Final = 64  # each takes about 20 kB


class PictureFacts(NamedTuple):
    """What the picture of a year shows. months: the books of each month. favourite: the author of most books, or ""
    if none wrote several of them."""

    reader: str
    year: int
    books: int
    pages: int
    mean_stars: float | None
    favourite: str
    months: tuple[int, ...]


def find_picture_facts(reader: str, found: YearStatistics) -> PictureFacts:
    """Return the facts for the picture of a year."""
    favourite = found.authors[0].name if found.authors and found.authors[0].books > 1 else ""
    months = tuple(month.books for month in found.months[1:])
    return PictureFacts(reader, found.year, found.books, found.pages, found.mean_stars, favourite, months)


@lru_cache(maxsize=MAX_CACHED_PICTURES)
def render_picture(facts: PictureFacts) -> bytes:
    """Return the picture of a year as a PNG of ``covers.images.SIZE`` pixels."""
    cloth, foil, _ = CLOTHS[facts.year % len(CLOTHS)]
    image = Image.new("RGB", SIZE, cloth)
    pen = ImageDraw.Draw(image)
    # A name with gaps would be wrong.
    title = f"{facts.reader}: {facts.year} in books" if can_write(facts.reader) else f"{facts.year} in books"
    _write(pen, title, MARGIN, 130, 64, foil)
    _write(pen, f"{facts.books:,} {'book' if facts.books == 1 else 'books'}", MARGIN, 215, 46, foil)
    _write(pen, f"{facts.pages:,} pages" if facts.pages else "", 460, 215, 46, foil)
    if facts.mean_stars is not None:
        _write(pen, f"{facts.mean_stars:.1f} of 5 stars", 820, 215, 46, foil)
    if facts.favourite and can_write(facts.favourite):
        _write(pen, f"Most read: {facts.favourite}", MARGIN, 285, 34, foil)
    _draw_months(pen, facts.months, foil, darken(cloth, 0.25))
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _draw_months(pen: ImageDraw.ImageDraw, months: Sequence[int], foil: str, ground: tuple[int, ...]) -> None:
    most = max(months) or 1
    step = (SIZE[0] - 2 * MARGIN) / len(months)
    for place, books in enumerate(months):
        left = MARGIN + place * step
        height = (CHART_BOTTOM - CHART_TOP) * books / most
        pen.rectangle((left, CHART_TOP, left + step * 0.7, CHART_BOTTOM), fill=ground)
        if books:
            pen.rectangle((left, CHART_BOTTOM - height, left + step * 0.7, CHART_BOTTOM), fill=foil)
        # Not Django's names of months, which depend on the visitor's language.
        name = date(2000, place + 1, 1).strftime("%b")
        pen.text((left + step * 0.35, CHART_BOTTOM + 40), name, foil, load_font(26), anchor="ms")


def _write(pen: ImageDraw.ImageDraw, text: str, left: int, baseline: int, size: int, fill: str) -> None:
    """Write a line, smaller if it does not fit between ``left`` and the margin."""
    room = SIZE[0] - MARGIN - left
    font = load_font(size)
    if (wide := font.getlength(text)) > room:
        font = load_font(int(size * room / wide))
    pen.text((left, baseline), text, fill, font, anchor="ls")
