"""Existing tags that are similar to an unknown name."""

import pytest

from catalog.names import normalise
from catalog.tags import similar


@pytest.mark.parametrize("typed", ["fantsy", "fantasyy", "fantesy", "afntasy", "antasy"])
def test_one_typing_mistake_is_near(typed: str) -> None:
    assert "fantasy" in similar.generate_variants(typed)


def test_a_hyphen_for_a_blank_or_nothing_is_near() -> None:
    assert {"young-adult", "youngadult"} <= set(similar.generate_variants("young adult"))


def test_two_typing_mistakes_are_too_far() -> None:
    assert "fantasy" not in similar.generate_variants("fnatsay")


def test_variants_are_normalised_and_differ_from_the_name() -> None:
    for name in ("a", "a b", "武侠", "x-y"):
        found = similar.generate_variants(name)
        assert found
        assert name not in found
        assert all(normalise(text) == text != "" for text in found)


def test_a_very_long_name_has_no_variants() -> None:
    assert similar.generate_variants("a" * (similar.MAX_NAME_LENGTH + 1)) == []


def test_the_best_tags_have_the_most_books_then_sort_by_name() -> None:
    assert similar.pick_most_used({"b": 1, "a": 1, "c": 9, "d": 0}) == [("c", 9), ("a", 1), ("b", 1)]
