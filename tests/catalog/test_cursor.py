"""Cursors: any text that is not an untouched cursor of this order means the first page."""

from typing import Any

import pytest
from django.core.signing import Signer
from hypothesis import given
from hypothesis import strategies as st

from catalog.listing import cursors
from tests.support.catalog.queries import ORDERS


@pytest.mark.parametrize(
    ("order", "position"),
    [
        ("popular", (0, 1)),
        ("popular", (2**62, 2**63 - 1)),
        ("newest", (-300, 7)),
        ("newest", (None, 7)),
        ("title", ("鹿鼎记 & \\ \" 'é", 3)),
        ("title", ("x" * 500, 3)),
    ],
)
def test_a_position_reads_back(order: str, position: tuple[Any, int]) -> None:
    assert cursors.read_cursor(cursors.write_cursor(order, position), order) == position


def test_a_long_title_fits_in_a_url() -> None:
    assert len(cursors.write_cursor("title", ("".join(chr(0x4E00 + n) for n in range(500)), 3))) < 2500


def test_a_cursor_is_valid_for_its_order_only() -> None:
    for order in ORDERS:
        for other in ORDERS:
            assert (cursors.read_cursor(cursors.write_cursor(order, (1999, 1)), other) is not None) is (order == other)


@given(place=st.integers(min_value=0), letter=st.characters())
def test_a_changed_letter_invalidates_a_cursor(place: int, letter: str) -> None:
    text = cursors.write_cursor("popular", (4711, 42))
    place %= len(text)
    changed = text[:place] + letter + text[place + 1 :]
    assert cursors.read_cursor(changed, "popular") == ((4711, 42) if changed == text else None)


@given(text=st.text())
def test_any_other_text_means_the_first_page(text: str) -> None:
    assert cursors.read_cursor(text, "popular") is None


def test_surrogates_mean_the_first_page() -> None:
    assert cursors.read_cursor("\ud800:\udfff", "popular") is None


@pytest.mark.parametrize("layout", [["popular", 1], ["popular", 1, 2, 3], {"a": 1}, 7, None, "abc"])
def test_an_unknown_layout_with_a_valid_signature_means_the_first_page(layout: object) -> None:
    text = Signer(salt=cursors.SALT).sign_object(layout, serializer=cursors._JsonSerializer, compress=True)
    assert cursors.read_cursor(text, "popular") is None


def test_a_signature_of_another_application_means_the_first_page() -> None:
    assert cursors.read_cursor(Signer(salt="another").sign_object(["popular", 1, 2]), "popular") is None
