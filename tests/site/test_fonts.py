"""The fonts that stand in for late fonts of the site are as wide and as tall as these."""

import re
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings
from fontTools.ttLib import TTFont
from fpdf.fonts import CORE_FONTS_CHARWIDTHS

STATIC: Final = Path(settings.BASE_DIR) / "common" / "static"
FACE: Final = re.compile(r"@font-face \{(.*?)\}", re.DOTALL)
TEXT: Final = (
    "A bookshop where readers tag, rate and talk about books. Readers who bought this also bought The Quiet Sea"
)


def read_face(family: str) -> dict[str, str]:
    """Return the declarations of a font, by property."""
    faces = [
        dict(line.strip().rstrip(";").split(": ", 1) for line in face.strip().splitlines())
        for face in FACE.findall((STATIC / "css" / "tokens.css").read_text())
    ]
    return next(face for face in faces if face["font-family"] == f'"{family}"')


def measure_width(font: TTFont) -> float:
    """Return the width of the text in units of the size of the font."""
    names, metrics = font.getBestCmap(), font["hmtx"]
    return float(sum(metrics[names[ord(letter)]][0] for letter in TEXT)) / font["head"].unitsPerEm


# Arial has the widths of Helvetica, and Times New Roman those of Times.
@pytest.mark.parametrize(
    ("family", "file", "stand_in"),
    [("Until Sans", "figtree-400", "helvetica"), ("Until Serif", "spectral-600", "timesB")],
)
def test_stand_ins_have_the_widths_and_heights_of_the_fonts(family: str, file: str, stand_in: str) -> None:
    face, font = read_face(family), TTFont(STATIC / "fonts" / f"{file}.woff2")
    scale, ascent, descent = (
        float(face[name].rstrip("%")) / 100 for name in ("size-adjust", "ascent-override", "descent-override")
    )
    width = sum(CORE_FONTS_CHARWIDTHS[stand_in][letter] for letter in TEXT) / 1000
    assert scale == pytest.approx(measure_width(font) / width, rel=0.01)
    height, unit = font["hhea"], font["head"].unitsPerEm
    assert scale * ascent == pytest.approx(height.ascent / unit, rel=0.005)
    assert scale * descent == pytest.approx(-height.descent / unit, rel=0.005)
    assert height.lineGap == 0
    assert face["line-gap-override"] == "0%"


@pytest.mark.parametrize("kind", ["Sans", "Serif"])
def test_stand_ins_follow_the_fonts_in_every_language(kind: str) -> None:
    """They have no quotation marks, which Chinese takes from its own fonts."""
    styles = (STATIC / "css" / "tokens.css").read_text()
    assert f'"Diptych {kind}", "Until {kind}", var(--{kind.lower()}-marks)' in styles
    assert read_face(f"Until {kind}")["unicode-range"] == "U+20-7E, U+A0-17F"
