"""The conversion of cells of the goodbooks files to values."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.importer import clean


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7), ("0", 0), ("12.0", 12), ("1e3", 1000), ("", None), ("-1", None), ("1.5", None), ("x", None),
        ("nan", None), ("inf", None), ("1e999999", None), ("9" * 30, None), ("９", None), ("1_0", None),
    ],
)  # fmt: skip
def test_numbers_are_whole_and_not_negative(text: str, value: int | None) -> None:
    assert clean.parse_number(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("2008.0", 2008), ("-720.0", -720), ("1", 1), ("0", None), ("99999", None), ("1999.5", None), ("", None)],
)
def test_years_may_be_bc_but_not_zero(text: str, value: int | None) -> None:
    assert clean.parse_year(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("4.34", "4.34"), ("4", "4.00"), ("0", "0.00"), ("5.01", None), ("-1", None), ("", None)]
)
def test_ratings_are_between_0_and_5(text: str, value: str | None) -> None:
    assert clean.parse_rating(text) == (None if value is None else Decimal(value))


@pytest.mark.parametrize(
    ("ten", "thirteen", "isbn"),
    [
        ("439023483", "9.78043902348e+12", "9780439023481"),  # its leading zero was lost
        ("0439023483", "", "9780439023481"),
        ("61120081", "", "9780061120084"),
        ("043902348x", "", None),  # the check digit is wrong
        ("155404295x", "", "9781554042951"),
        ("439023484", "9780439023481", "9780439023481"),
        ("9780439023481", "", "9780439023481"),
        ("0-439-02348-3", "", "9780439023481"),
        ("", "978‑0‑439‑02348‑1", "9780439023481"),
        ("", "9.78043902348e+12", None),
        ("4.39023483e+08", "", None),
        ("", "9780439023482", None),
        ("0000000000", "", None),
        ("12", "", None),
        ("", "", None),
    ],
)
def test_an_isbn_needs_a_correct_check_digit(ten: str, thirteen: str, isbn: str | None) -> None:
    assert clean.pick_isbn(ten, thirteen) == isbn


def test_authors_are_distinct_in_order_and_with_single_blanks() -> None:
    text = "William Shakespeare, Robert           Jackson,, Kurt Vonnegut Jr., William Shakespeare ,"
    assert clean.split_authors(text, 300) == ["William Shakespeare", "Robert Jackson", "Kurt Vonnegut Jr."]
    assert clean.split_authors("Mary GrandPre\u0301, Mary GrandPr\u00e9", 300) == ["Mary GrandPr\u00e9"]


def test_overlong_text_is_cut_with_an_ellipsis() -> None:
    assert clean.shorten("abcdef", 6) == "abcdef"
    assert clean.shorten("abcdefg", 6) == "abcde…"
    assert clean.split_authors("x" * 400, 300) == ["x" * 299 + "…"]


@given(st.text(), st.text())
def test_no_text_raises_an_error(text: str, other: str) -> None:
    assert clean.parse_number(text) is None or text.isascii()
    assert clean.parse_year(text) != 0
    assert clean.parse_rating(text) is None or text.isascii()
    assert len(clean.pick_isbn(text, other) or "") in (0, 13)
    assert all(0 < len(name) <= 300 for name in clean.split_authors(text, 300))
