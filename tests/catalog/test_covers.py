"""Drawn covers: a book always gets the same cover, and its text stays inside."""

import re
import unicodedata
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from django.conf import settings
from fontTools.ttLib import TTFont
from hypothesis import given
from hypothesis import strategies as st

from catalog.books.series import split_title
from catalog.covers.designs import CLOTH_COUNT, DESIGNS, LAYOUTS, choose_design
from catalog.covers.lettering import TITLE_SIZES, fit_text, measure_width, wrap_text
from catalog.covers.plans import CoverFacts
from catalog.covers.svg import draw_cover as draw_facts
from catalog.covers.widths import WIDTHS

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=300)


def draw_cover(book_id: int, title: str, author: str, design: str = "") -> str:
    return draw_facts(CoverFacts(book_id, title, author, design))


def lines_of(svg: str) -> list[tuple[float, str]]:
    """Return size and text of each line of a cover."""
    return [(float(t.attrib["font-size"]), t.text or "") for t in ElementTree.fromstring(svg).iter("text")]


def test_a_book_always_gets_the_same_cover() -> None:
    draw_facts.cache_clear()
    first = draw_cover(7, "Dune", "Frank Herbert")
    draw_facts.cache_clear()
    assert draw_cover(7, "Dune", "Frank Herbert") == first


def test_consecutive_ids_get_different_covers() -> None:
    seen = [re.sub(r"<text.*?</text>", "", draw_cover(n, "Same", "Same")) for n in range(1, 2000)]
    assert len(set(seen)) == CLOTH_COUNT * len(LAYOUTS)
    assert all(a != b for a, b in pairwise(seen))


@given(
    book_id=st.integers(0, 2**63 - 1),
    title=st.one_of(texts, st.just("W" * 500), st.just("\u4e09" * 500)),
    author=st.one_of(st.just(""), texts, st.just("W" * 300)),
    design=st.sampled_from(["", *DESIGNS]),
)
def test_texts_are_whole_and_inside_their_boxes(book_id: int, title: str, author: str, design: str) -> None:
    svg = draw_cover(book_id, title, author, design)
    widest = max(layout.width for layout in LAYOUTS)
    for size, text in lines_of(svg):
        assert measure_width(text) * size <= widest + 0.01
    places: dict[str, list[float]] = {"cover-title": [], "cover-author": []}
    texts: dict[str, str] = {"cover-title": "", "cover-author": ""}
    for line in ElementTree.fromstring(svg).iter("text"):
        kind = line.attrib["class"].split()[0]
        places[kind].append(float(line.attrib["y"]))
        texts[kind] += line.text or ""
    # XML reads some signs as others, so their number is compared.
    whole = "".join(split_title(title)[0].split())
    assert len("".join(texts["cover-title"].split())) == len(whole)
    assert len("".join(texts["cover-author"].split())) == len("".join(author.split()))
    heights = [*places["cover-title"], *places["cover-author"]]
    assert heights == sorted(heights)
    assert all(0 < y < 180 for y in heights)


@given(title=texts, room=st.floats(2, 20))
def test_wrapping_loses_nothing(title: str, room: float) -> None:
    lines = wrap_text(title, room)
    assert "".join("".join(lines).split()) == "".join(title.split())
    assert all(measure_width(line) <= room for line in lines)


def test_a_long_word_gets_a_smaller_size_before_it_is_broken() -> None:
    ((size, text), *_) = lines_of(draw_cover(1, "Incomprehensible", ""))
    assert text == "Incomprehensible"
    assert size < TITLE_SIZES.all[0]


def test_widths_are_those_of_the_fonts() -> None:
    widths: dict[str, float] = {}
    for path in (Path(settings.BASE_DIR) / "common" / "static" / "fonts").glob("*.woff2"):
        font = TTFont(path)
        for code, glyph in font.getBestCmap().items():
            width = font["hmtx"][glyph][0] / font["head"].unitsPerEm
            widths[chr(code)] = max(width, widths.get(chr(code), 0.0))
    for letter, width in WIDTHS.items():
        assert -0.001 < width - widths[letter] < 0.011, letter
    assert set(widths) - set(WIDTHS) < set(filter(unicodedata.combining, widths)) | {"\xa0", "\xad", "\u200b"}


def test_a_long_word_is_as_large_as_it_fits() -> None:
    assert fit_text("Understanding Ruby", TITLE_SIZES, 82, 104) == (11.5, ["Understanding", "Ruby"])


def test_a_word_is_broken_at_its_hyphens_first() -> None:
    assert [text for _, text in lines_of(draw_cover(69, "Slaughterhouse-Five", ""))] == ["Slaughterhouse-", "Five"]


def test_a_name_is_smaller_before_it_takes_two_lines() -> None:
    for book_id in range(100):
        *_, author = lines_of(draw_cover(book_id, "Dune", "F. Scott Fitzgerald"))
        assert author[1] == "F. Scott Fitzgerald"


def test_the_design_is_that_of_the_most_frequent_known_tag() -> None:
    assert choose_design(["favourites", "dune"]) == ""
    assert choose_design(["owned", "sci-fi", "fantasy"]) == "science fiction"
    assert choose_design(["young adult", "fantasy"]) == choose_design(["young-adult"]) == "young adult"
    shapes = {re.sub("<text.*", "", draw_cover(7, "Dune", "", design)) for design in ["", *DESIGNS]}
    assert len(shapes) == len(DESIGNS) + 1
    assert draw_cover(7, "Dune", "", "of newer code").count("<g") == 0


def test_titles_in_chinese_are_wrapped_without_blanks() -> None:
    lines = lines_of(draw_cover(1, "三体第二部黑暗森林地球往事三部曲之二", "刘慈欣"))
    assert len(lines) > 2


def test_covers_omit_the_series() -> None:
    assert "#1" not in draw_cover(1, "The Hunger Games (The Hunger Games, #1)", "")
    assert "(abridged)" in draw_cover(1, "Emma (abridged)", "")
    assert "#1" in draw_cover(1, "(#1)", "")


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", 'a"b', "a&b", "<"])
def test_titles_and_authors_are_escaped(text: str) -> None:
    svg = draw_cover(1, text, text)
    assert "<script" not in svg
    ElementTree.fromstring(svg)


def test_covers_have_no_style_attribute_and_are_hidden_from_screen_readers() -> None:
    svg = ElementTree.fromstring(draw_cover(1, "Dune", "Frank Herbert"))
    assert svg.attrib["aria-hidden"] == "true"
    assert not any("style" in element.attrib for element in svg.iter())


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("长安的旧事", ["长安的旧事"]),
        ("长安城里的旧事", ["长安城里", "的旧事"]),
        ("The Concurrency Workbook", ["The", "Concurrency", "Workbook"]),
    ],
)
def test_chinese_titles_have_one_line_or_lines_of_nearly_equal_width(title: str, lines: list[str]) -> None:
    assert fit_text(title, TITLE_SIZES, 80, 66)[1] == lines
