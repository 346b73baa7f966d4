"""Names that look like one that nobody knows."""

import pytest

from catalog import nearest
from catalog.names import normalise


@pytest.mark.parametrize("typed", ["fantsy", "fantasyy", "fantesy", "afntasy", "antasy"])
def test_a_slip_of_the_finger_is_near(typed: str) -> None:
    assert "fantasy" in nearest.variants(typed)


def test_a_hyphen_for_a_blank_or_nothing_is_near() -> None:
    assert {"young-adult", "youngadult"} <= set(nearest.variants("young adult"))


def test_two_slips_are_too_far() -> None:
    assert "fantasy" not in nearest.variants("fnatsay")


def test_every_variant_is_a_name_as_names_are_written_and_not_the_name_itself() -> None:
    for name in ("a", "a b", "武侠", "x-y"):
        found = nearest.variants(name)
        assert found
        assert name not in found
        assert all(normalise(text) == text != "" for text in found)


def test_a_very_long_name_has_too_many_variants_to_look_at() -> None:
    assert nearest.variants("a" * (nearest.LONGEST + 1)) == []


def test_the_best_are_those_that_most_books_have_and_then_by_name() -> None:
    assert nearest.best({"b": 1, "a": 1, "c": 9, "d": 0}) == [("c", 9), ("a", 1), ("b", 1)]
