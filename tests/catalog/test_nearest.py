"""Existing tags that are similar to an unknown name."""

import pytest

from catalog import nearest
from catalog.names import normalise


@pytest.mark.parametrize("typed", ["fantsy", "fantasyy", "fantesy", "afntasy", "antasy"])
def test_one_typing_mistake_is_near(typed: str) -> None:
    assert "fantasy" in nearest.generate_variants(typed)


def test_a_hyphen_for_a_blank_or_nothing_is_near() -> None:
    assert {"young-adult", "youngadult"} <= set(nearest.generate_variants("young adult"))


def test_two_typing_mistakes_are_too_far() -> None:
    assert "fantasy" not in nearest.generate_variants("fnatsay")


def test_variants_are_normalised_and_differ_from_the_name() -> None:
    for name in ("a", "a b", "武侠", "x-y"):
        found = nearest.generate_variants(name)
        assert found
        assert name not in found
        assert all(normalise(text) == text != "" for text in found)


def test_a_very_long_name_has_no_variants() -> None:
    assert nearest.generate_variants("a" * (nearest.MAX_NAME_LENGTH + 1)) == []


def test_the_best_tags_have_the_most_books_then_sort_by_name() -> None:
    assert nearest.pick_most_used({"b": 1, "a": 1, "c": 9, "d": 0}) == [("c", 9), ("a", 1), ("b", 1)]
