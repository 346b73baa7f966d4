"""Texts from outside become primary keys only if a row could have them."""

import pytest

from common.ids import MAX_ID, parse_id, parse_ids


@pytest.mark.parametrize("text", ["", "x", "1.5", " 1", "1_0", "+1", "٣", "９", "1\n", str(MAX_ID + 1), "9" * 5000])
def test_texts_that_are_no_ids_are_left_out(text: str) -> None:
    assert parse_ids(["7", text, "8"]) == [7, 8]
    assert parse_id(text) is None


def test_greatest_id_and_leading_zeros_are_accepted() -> None:
    assert parse_ids([str(MAX_ID), "007"]) == [MAX_ID, 7]
    assert parse_id(str(MAX_ID)) == MAX_ID


def test_negative_keys_are_keys_but_no_ids_of_addresses() -> None:
    assert parse_ids(["-1"]) == [-1]
    assert parse_id("-1") is None
