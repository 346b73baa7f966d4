"""Covers as PNG, for link previews: readers of Open Graph show no SVG.

The image has the layout, the colours and the text of the drawn cover (``covers``). The font is Inter, which
django-unfold ships; it has no Arabic, Chinese, Japanese or Korean letters. A title or an author with a letter that it
lacks is left out: 74 of 10,000 real titles. Fonts for every script would take 20 MB, and Pillow's own lacks "é".
"""

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import unfold
from PIL import Image, ImageColor, ImageDraw, ImageFont

from catalog.books.covers import CoverLine, CoverPlan, plan_cover

SIZE: Final = (1200, 630)  # pixels, as the readers of Open Graph recommend
MARGIN: Final = 30  # pixels above and below the cover
COVER_SIZE: Final = (120, 180)  # units of the drawn cover
# Pillow draws shapes without smooth edges, so they are drawn larger and reduced.
OVERSAMPLING: Final = 2
FONT: Final = Path(unfold.__file__).parent / "static/unfold/fonts/inter/Inter-SemiBold.woff2"
UNASSIGNED: Final = "\ue123"  # a letter that the font lacks
DRAWING_VERSION: Final = 2  # increase it if covers look different
MAX_CACHED_IMAGES: Final = 256  # each takes about 20 kB

# The same colours as in static/css/shelf.css: the cloth and the foil of each number.
CLOTHS: Final = (
    ("#24443a", "#ecd9a8"),
    ("#6e2a22", "#f3dcb4"),
    ("#22375a", "#e6d5ad"),
    ("#c99a3c", "#2c1f10"),
    ("#4a4f58", "#f0e6d2"),
    ("#55304f", "#eed3c4"),
    ("#1f5660", "#f2e2bd"),
    ("#d9cbb0", "#5a2318"),
    ("#5b6b3a", "#fbf0d2"),
    ("#a8492f", "#fdf0dc"),
)
LABEL: Final = "#f8f1e3"
LABEL_RULE: Final = "#b9a888"
LABEL_TEXT: Final = "#2a211a"
RULE_WIDTH: Final = 0.8  # units
SHADE: Final = 0x2E / 0xFF  # the part of black in a shaded colour
SURROUNDINGS: Final = 0.45  # the part of black beside the cover

PATH_STEP: Final = re.compile(r"([MhvHVz])((?:[-\d.]+\s?)*)")

Point = tuple[float, float]


def make_version(title: str, author: str) -> str:
    """Return a version of a cover's image, which differs if the image differs."""
    return hashlib.sha256(f"{DRAWING_VERSION}|{title}|{author}".encode()).hexdigest()[:12]


@lru_cache(maxsize=MAX_CACHED_IMAGES)
def render_cover(book_id: int, title: str, author: str) -> bytes:
    """Return the cover of a book as a PNG of SIZE pixels."""
    plan = plan_cover(book_id, title, author)
    cloth = CLOTHS[plan.cloth][0]
    scale = (SIZE[1] - 2 * MARGIN) / COVER_SIZE[1]
    image = Image.new("RGB", SIZE, darken(cloth, SURROUNDINGS))
    drawn = _draw(plan, scale * OVERSAMPLING).reduce(OVERSAMPLING)
    image.paste(drawn, ((SIZE[0] - drawn.width) // 2, MARGIN))
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _draw(plan: CoverPlan, scale: float) -> Image.Image:
    cloth, _ = CLOTHS[plan.cloth]
    image = Image.new("RGB", (round(COVER_SIZE[0] * scale), round(COVER_SIZE[1] * scale)), cloth)
    pen = ImageDraw.Draw(image)
    for shape in ElementTree.fromstring(f"<g>{plan.layout.ground}</g>"):
        _draw_shape(pen, shape, plan, scale)
    # A name with gaps would be wrong, so all lines of a kind are left out if one has an unknown letter.
    unwritable = {line.kind for line in plan.lines if not can_write(line.text)}
    for line in plan.lines:
        if line.kind not in unwritable:
            _write(pen, line, plan, scale)
    return image


def _draw_shape(pen: ImageDraw.ImageDraw, shape: ElementTree.Element, plan: CoverPlan, scale: float) -> None:
    cloth, foil = CLOTHS[plan.cloth]
    fills: dict[str, str | tuple[int, ...]] = {
        "cloth": cloth,
        "foil": foil,
        "label": LABEL,
        "shade": darken(cloth, SHADE),
    }
    kind = shape.attrib["class"]
    if shape.tag == "circle":
        x, y, radius = (float(shape.attrib[name]) * scale for name in ("cx", "cy", "r"))
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fills[kind])
        return
    rule = LABEL_RULE if plan.layout.on_label else foil
    for points in _trace_path(shape.attrib["d"]):
        scaled = [(x * scale, y * scale) for x, y in points]
        if kind == "rule":
            pen.line(scaled, fill=rule, width=round(RULE_WIDTH * scale))
        else:
            pen.polygon(scaled, fill=fills[kind])


def _trace_path(path: str) -> Iterator[list[Point]]:
    """Yield the corners of each part of an SVG path that consists of straight lines along the axes."""
    points: list[Point] = []
    for step, numbers in PATH_STEP.findall(path):
        values = [float(number) for number in numbers.split()]
        if step == "M":
            if points:
                yield points
            points = [(values[0], values[1])]
            continue
        x, y = points[-1]
        match step:
            case "z":
                x, y = points[0]
            case "h" | "H":
                x = values[0] + (x if step == "h" else 0)
            case _:
                y = values[0] + (y if step == "v" else 0)
        points.append((x, y))
    yield points


def _write(pen: ImageDraw.ImageDraw, line: CoverLine, plan: CoverPlan, scale: float) -> None:
    """Write a line, smaller if it is wider than its box."""
    room, size = plan.layout.width * scale, line.size * scale
    font = load_font(round(size))
    if (wide := font.getlength(line.text)) > room:
        font = load_font(int(size * room / wide))
    fill = LABEL_TEXT if "on-label" in line.kind else CLOTHS[plan.cloth][1]
    start = "l" if line.anchor == "start" else "m"
    pen.text((line.x * scale, line.y * scale), line.text, fill, font, anchor=f"{start}s")


@lru_cache(maxsize=64)
def load_font(size: int) -> ImageFont.FreeTypeFont:
    """Return the font in a size in pixels."""
    return ImageFont.truetype(FONT, max(size, 1))


def can_write(text: str) -> bool:
    """Return whether the font has all letters of a text."""
    return all(map(_has_letter, text))


@lru_cache(maxsize=4096)
def _has_letter(letter: str) -> bool:
    return letter.isspace() or _shape_of(letter) != _shape_of(UNASSIGNED)


def _shape_of(letter: str) -> tuple[Any, bytes]:
    mask = load_font(40).getmask(letter)
    # Pillow draws the same box for all letters that a font lacks.
    return mask.size, bytes(mask)


def darken(colour: str, part: float) -> tuple[int, ...]:
    """Return a colour with a part of black."""
    return tuple(round(value * (1 - part)) for value in ImageColor.getrgb(colour))
