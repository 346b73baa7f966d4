"""Texts of posts: removal of deceptive characters, and length in visible characters."""

import unicodedata
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from social.content.cleaning import (
    MAX_CHARACTERS,
    MAX_INPUT_CODE_POINTS,
    MAX_MARKS,
    OF_REVIEWS,
    clean,
    count_characters,
)

ZWJ, ZWNJ, VS16 = "\u200d", "\u200c", "\ufe0f"
FAMILY = "👩‍👩‍👧‍👦"
SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("  a  \r\nb\rc\u2028d\x85e ", "a\nb\nc\nd\ne"),
        ("a\tb", "a b"),
        ("a\n\n\n\n\n \t\n\n\nb", "a\n\n\nb"),
        ("a\x00b\x07c\x1b[31m\ud800", "abc[31m"),
        ("e\u0301", "é"),
        ("pay\u202egnp.exe\u202c \u2066x\u2069", "paygnp.exe x"),
        ("in\u200bvi\u2060si\ufeffble so\u00adft", "invisible soft"),
        ("a\u200db\u200cc", "abc"),
        ("left\u200e right\u200f", "left right"),
        ("secret\U000e0073\U000e0065", "secret"),
        ("data\ufe00\ufe01\ufe02\ufe0f", "data\ufe00"),
        ("\ufff9a\ufffab\ufffb\ufffe", "ab"),
    ],
)
def test_deceptive_characters_are_removed(given: str, kept: str) -> None:
    assert clean(given) == kept


@pytest.mark.parametrize(
    "text",
    [
        FAMILY,
        SCOTLAND,
        "❤️",
        "1️⃣",
        "👍🏽",
        "🏳️‍🌈",
        "می‌خواهم",
        "क्‍ष",
        "葛\U000e0100",
        "שלום!\u200f (abc)",
        "😶‍🌫️",
        "ᠮᠣᠩᠭᠣᠯ ᠤ\u180b",
        "日本語、한국어。中文，ไทย",
        "שָׁ֑ב",
        "a\n\nb",
    ],
)
def test_characters_of_scripts_and_emoji_stay(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("text", ["", "  \n ", "\u200b\u200d\ufeff", "\u3164\u115f", "\u2800\u3000", "\u202e\x00"])
def test_a_text_without_visible_characters_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="Write something first"):
        clean(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [("abc", 3), ("e\u0301", 1), (FAMILY, 1), (SCOTLAND, 1), ("🇩🇪🇫🇷", 2), ("1️⃣", 1), ("a\nb", 3), ("한국", 2)],
)
def test_length_counts_visible_characters(text: str, count: int) -> None:
    assert count_characters(text) == count


@pytest.mark.parametrize("one", ["a", "字", FAMILY, "👍🏽", "é"])
def test_five_hundred_characters_of_any_script_fit(one: str) -> None:
    most = min(MAX_CHARACTERS, 5000 // len(one))
    assert clean(one * most) == one * most
    with pytest.raises(ValidationError):
        clean(one * (MAX_CHARACTERS + 12))


def test_the_error_has_the_number_of_characters() -> None:
    with pytest.raises(ValidationError) as raised:
        clean("🇩🇪" * 512)
    assert raised.value.messages == ["The text has 512 characters. The maximum is 500: remove 12."]
    with pytest.raises(ValidationError) as raised:
        clean("x" * (MAX_INPUT_CODE_POINTS + 1))
    assert str(MAX_INPUT_CODE_POINTS + 1) in raised.value.messages[0]


def test_piled_marks_are_limited() -> None:
    assert clean("Z" + "\u0317" * 100 + "x") == "Z" + "\u0317" * MAX_MARKS + "x"


def test_a_long_chain_of_emoji_counts_as_several_characters() -> None:
    assert count_characters("👩‍" * 400 + "👩") == 51
    with pytest.raises(ValidationError):
        clean("👩‍" * 9000 + "👩")


def test_code_points_are_limited() -> None:
    with pytest.raises(ValidationError) as raised:
        clean(FAMILY * MAX_CHARACTERS + "é")
    assert "501" in raised.value.messages[0]
    with pytest.raises(ValidationError) as raised:
        clean((FAMILY + ZWJ + "👦" + ZWJ + "👦") * MAX_CHARACTERS)
    assert raised.value.messages == [
        "Use fewer accents and emoji: the text has 5500 code points, and 5000 are allowed."
    ]


NASTY = st.sampled_from([*"\u200b\u200c\u200d\u200e\u200f\u202e\u2066\ufe0f\ufe0e\u061c\u0301\u034f\u115f\u3164\u180b"])
PARTS = st.one_of(
    st.characters(codec=None),
    NASTY,
    st.sampled_from([*"aש字👩क한ᠠ🏴 \n\r\t", FAMILY, SCOTLAND, "1️⃣", "\U000e0067", "\U000e007f", "\ud800"]),
)


@given(st.lists(PARTS, max_size=40).map("".join))
def test_cleaning_is_idempotent(text: str) -> None:
    try:
        kept = clean(text)
    except ValidationError:
        return
    assert clean(kept) == kept
    assert kept.encode()
    assert not set(kept) & set("\x00\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff\r")
    assert "\n\n\n\n" not in kept
    assert count_characters(kept) <= MAX_CHARACTERS


def test_long_piles_of_marks_are_cut_before_normalising(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting the marks on one letter takes quadratic time."""
    seen: list[str] = []
    normalise = unicodedata.normalize

    def note(form: Any, text: str) -> str:
        seen.append(text)
        return normalise(form, text)

    monkeypatch.setattr(unicodedata, "normalize", note)
    clean("a" + "\u0301\u0316" * 4000)
    assert max(map(len, seen)) == 1 + MAX_MARKS


def test_the_time_of_a_long_run_of_blanks_is_linear() -> None:
    # Quadratic time would be two minutes.
    with pytest.raises(ValidationError):
        clean("a" + " " * (OF_REVIEWS.input_code_points - 2) + "b", OF_REVIEWS)
