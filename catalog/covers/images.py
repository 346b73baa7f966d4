"""Covers as PNG, for link previews: readers of Open Graph show no SVG.

The image has the uploaded cover, or the shapes, the colours and the text of the drawn one. The font is Inter, which
django-unfold ships; it has no Arabic, Chinese, Japanese or Korean letters. A title or an author with a letter that it
lacks is left out: 74 of 10,000 real titles. Fonts for every script would take 20 MB, and Pillow's own lacks "é".
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree

import unfold
from PIL import Image, ImageColor, ImageDraw, ImageFont

from catalog.covers.designs import TEXTURES
from catalog.covers.plans import CoverFacts, CoverLine, CoverPlan, plan_cover
from catalog.pictures import COVERS

SIZE: Final = (1200, 630)  # pixels, as the readers of Open Graph recommend
MARGIN: Final = 30  # pixels above and below the cover
COVER_SIZE: Final = (120, 180)  # units of the drawn cover
# Pillow draws shapes without smooth edges, so they are drawn larger and reduced.
OVERSAMPLING: Final = 2
FONT: Final = Path(unfold.__file__).parent / "static/unfold/fonts/inter/Inter-SemiBold.woff2"
UNASSIGNED: Final = "\ue123"  # a letter that the font lacks
DRAWING_VERSION: Final = 5  # increase it if covers look different
MAX_CACHED_IMAGES: Final = 256  # each takes about 20 kB

# The same colours as in static/css/shelf.css: the cloth, the foil and the second colour of each number.
CLOTHS: Final = (
    ("#24443a", "#ecd9a8", "#b8562f"),
    ("#6e2a22", "#f3dcb4", "#b9652a"),
    ("#22375a", "#e6d5ad", "#b5473a"),
    ("#c99a3c", "#2c1f10", "#ead292"),
    ("#4a4f58", "#f0e6d2", "#8c3f35"),
    ("#55304f", "#eed3c4", "#a8506a"),
    ("#1f5660", "#f2e2bd", "#b5562f"),
    ("#d9cbb0", "#5a2318", "#e0a184"),
    ("#5b6b3a", "#fbf0d2", "#2f4a3c"),
    ("#a8492f", "#fdf0dc", "#24435a"),
    ("#8a2f4a", "#f8e3cf", "#2f2645"),
    ("#9dbbc0", "#17303a", "#e6dfca"),
)
LABEL: Final = "#f8f1e3"
LABEL_RULE: Final = "#b9a888"
LABEL_TEXT: Final = "#2a211a"
RULE_WIDTH: Final = 0.8  # units
GRAIN: Final = 0.1  # the part of the foil in a texture
SHADE: Final = 0x2E / 0xFF  # the part of black in a shaded colour
SURROUNDINGS: Final = 0.45  # the part of black beside the cover

PATH_STEP: Final = re.compile(r"([MLhlvHVz])((?:-?[\d.]+\s?)*)")
NUMBER: Final = re.compile(r"-?[\d.]+")

Point = tuple[float, float]


def make_version(facts: CoverFacts) -> str:
    """Return a version of a cover's image, which differs if the image differs."""
    return hashlib.sha256(f"{DRAWING_VERSION}|{'|'.join(facts[1:])}".encode()).hexdigest()[:12]


@lru_cache(maxsize=MAX_CACHED_IMAGES)
def render_cover(facts: CoverFacts) -> bytes:
    """Return the cover of a book as a PNG of SIZE pixels."""
    plan = plan_cover(facts)
    scale = (SIZE[1] - 2 * MARGIN) / COVER_SIZE[1]
    cover = _load_uploaded(facts.picture, scale) or _draw(plan, scale * OVERSAMPLING).reduce(OVERSAMPLING)
    image = Image.new("RGB", SIZE, darken(CLOTHS[plan.cloth][0], SURROUNDINGS))
    image.paste(cover, ((SIZE[0] - cover.width) // 2, MARGIN))
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _load_uploaded(name: str, scale: float) -> Image.Image | None:
    """Return an uploaded cover, or None without one."""
    if not name:
        return None
    try:
        with Image.open(BytesIO(COVERS.read_largest(name)), formats=["WEBP"]) as opened:
            return opened.convert("RGB").resize((round(COVER_SIZE[0] * scale), round(COVER_SIZE[1] * scale)))
    # The storage may lack a file that a backup did not contain.
    except OSError:
        return None


def _draw(plan: CoverPlan, scale: float) -> Image.Image:
    cloth = CLOTHS[plan.cloth][0]
    image = Image.new("RGB", (round(COVER_SIZE[0] * scale), round(COVER_SIZE[1] * scale)), cloth)
    pen = ImageDraw.Draw(image)
    _draw_texture(pen, plan, scale)
    ground = plan.layout.ground
    _draw_shapes(pen, ground if plan.motif else ground + plan.layout.default, plan, Frame(0, 0, scale))
    x, y, size = plan.layout.motif
    _draw_shapes(pen, plan.motif, plan, Frame(x * scale, y * scale, size * scale))
    # A name with gaps would be wrong, so all lines of a kind are left out if one has an unknown letter.
    unwritable = {line.kind for line in plan.lines if not can_write(line.text)}
    for line in plan.lines:
        if line.kind not in unwritable:
            _write(pen, line, plan, scale)
    return image


class Frame(NamedTuple):
    """Where shapes are drawn. x, y: the pixel of their origin. scale: pixels for each of their units."""

    x: float
    y: float
    scale: float


def _draw_texture(pen: ImageDraw.ImageDraw, plan: CoverPlan, scale: float) -> None:
    width, distance = TEXTURES.get(plan.texture, (0, 0))
    if not width:
        return
    cloth, foil = map(ImageColor.getrgb, CLOTHS[plan.cloth][:2])
    fill = tuple(round(a + (b - a) * GRAIN) for a, b in zip(cloth, foil, strict=True))
    for left in range(0, COVER_SIZE[0], width + distance):
        # Pillow draws the last pixel of a rectangle as well.
        pen.rectangle((left * scale, 0, (left + width) * scale - 1, COVER_SIZE[1] * scale), fill=fill)


def _draw_shapes(pen: ImageDraw.ImageDraw, shapes: str, plan: CoverPlan, frame: Frame) -> None:
    for shape in ElementTree.fromstring(f"<g>{shapes}</g>"):
        _draw_shape(pen, shape, plan, frame)


def _draw_shape(pen: ImageDraw.ImageDraw, shape: ElementTree.Element, plan: CoverPlan, frame: Frame) -> None:
    cloth, foil, mate = CLOTHS[plan.cloth]
    fills: dict[str, str | tuple[int, ...]] = {
        "cloth": cloth,
        "foil": foil,
        "mate": mate,
        "label": LABEL,
        "shade": darken(cloth, SHADE),
    }
    kind = shape.attrib["class"]
    if shape.tag == "circle":
        x, y, radius = (float(shape.attrib[name]) * frame.scale for name in ("cx", "cy", "r"))
        x, y = x + frame.x, y + frame.y
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fills[kind])
        return
    is_on_label = bool(plan.layout.on_label) and shape.attrib["d"] in plan.layout.ground
    for points in _trace_path(shape.attrib["d"]):
        scaled = [(frame.x + x * frame.scale, frame.y + y * frame.scale) for x, y in points]
        if kind == "rule":
            pen.line(scaled, fill=LABEL_RULE if is_on_label else foil, width=round(RULE_WIDTH * frame.scale))
        else:
            pen.polygon(scaled, fill=fills[kind])


def _trace_path(path: str) -> Iterator[list[Point]]:
    """Yield the corners of each part of an SVG path that consists of straight lines."""
    points: list[Point] = []
    start: Point = (0, 0)
    for step, numbers in PATH_STEP.findall(path):
        values = [float(number) for number in NUMBER.findall(numbers)]
        if step == "M":
            if points:
                yield points
            points, start = [], (values[0], values[1])
        for point in _list_corners(step, values, points[-1] if points else start, start):
            points.append(point)
    yield points


def _list_corners(step: str, values: Sequence[float], last: Point, start: Point) -> list[Point]:
    """Return the corners that a command adds. SVG allows several pairs of numbers after M, L and l."""
    x, y = last
    match step:
        case "z":
            return [start]
        case "h" | "H":
            return [(values[0] + (x if step == "h" else 0), y)]
        case "v" | "V":
            return [(x, values[0] + (y if step == "v" else 0))]
    corners = []
    for across, down in zip(values[::2], values[1::2], strict=True):
        x, y = (x + across, y + down) if step == "l" else (across, down)
        corners.append((x, y))
    return corners


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
