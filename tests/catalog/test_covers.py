"""Drawn covers: a book always gets the same cover, and its text stays inside."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.books.covers import CLOTH_COUNT, FONT_SIZES, LAYOUTS, draw_cover, measure_width, wrap_title

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=300)


def lines_of(svg: str) -> list[tuple[float, str]]:
    """Return size and text of each line of a cover."""
    return [(float(t.attrib["font-size"]), t.text or "") for t in ElementTree.fromstring(svg).iter("text")]


def test_a_book_always_gets_the_same_cover() -> None:
    draw_cover.cache_clear()
    first = draw_cover(7, "Dune", "Frank Herbert")
    draw_cover.cache_clear()
    assert draw_cover(7, "Dune", "Frank Herbert") == first


def test_consecutive_ids_get_different_covers() -> None:
    seen = [re.sub(r"<text.*?</text>", "", draw_cover(n, "Same", "Same")) for n in range(1, 200)]
    assert len(set(seen)) == CLOTH_COUNT * len(LAYOUTS)
    assert all(a != b for a, b in pairwise(seen))


@given(book_id=st.integers(0, 2**63 - 1), title=texts, author=st.one_of(st.just(""), texts))
def test_words_are_never_wider_than_their_box(book_id: int, title: str, author: str) -> None:
    widest = max(cut.width for cut in LAYOUTS)
    for size, text in lines_of(draw_cover(book_id, title, author)):
        assert measure_width(text) * size <= widest + 0.01


@given(book_id=st.integers(0, 2**31), title=texts)
def test_titles_stay_above_the_author_and_within_the_cover(book_id: int, title: str) -> None:
    svg = ElementTree.fromstring(draw_cover(book_id, title, "Author"))
    *words, author = [float(t.attrib["y"]) for t in svg.iter("text")]
    assert all(0 < y < author < 180 for y in words)


@given(title=texts, room=st.floats(2, 20))
def test_wrapping_loses_nothing(title: str, room: float) -> None:
    lines = wrap_title(title, room)
    assert "".join("".join(lines).split()) == "".join(title.split())
    assert all(measure_width(line) <= room for line in lines)


def test_a_long_word_gets_a_smaller_size_before_it_is_broken() -> None:
    ((size, text), *_) = lines_of(draw_cover(1, "Incomprehensible", ""))
    assert text == "Incomprehensible"
    assert size < FONT_SIZES[0]


def test_a_word_is_broken_at_its_hyphens_first() -> None:
    assert [text for _, text in lines_of(draw_cover(69, "Slaughterhouse-Five", ""))] == ["Slaughterhouse-", "Five"]


def test_an_overlong_title_ends_in_an_ellipsis() -> None:
    assert lines_of(draw_cover(1, "word " * 100, ""))[-1][1].endswith("…")


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
