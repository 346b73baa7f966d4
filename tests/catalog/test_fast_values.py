"""Values that a rebuild computes for each book: the short ways give what the libraries give."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from pyuca import Collator
from stdnum import ean, isbn

from catalog.values.collation import make_sort_key
from catalog.values.isbns import find_isbn

COLLATOR: Final = Collator()
SMALLEST: Final = ("", "0020", "0002")


def write_key(text: str) -> str:
    """Return a sort key in the plainest way, weight by weight."""
    weights, levels = list(COLLATOR.sort_key(text)), []
    for smallest in SMALLEST:
        end = weights.index(0)
        level = [f"{weight:04x}" for weight in weights[:end]]
        weights = weights[end + 1 :]
        while level and level[-1] == smallest:
            level.pop()
        levels.append("".join(level))
    return ".".join(levels)


@given(st.text(st.characters(max_codepoint=127), max_size=40))
def test_sort_keys_of_ascii_titles_are_those_of_the_library(title: str) -> None:
    assert make_sort_key(title) == write_key(title)


@given(st.text(max_size=20))
def test_sort_keys_of_other_titles_are_those_of_the_library(title: str) -> None:
    assert make_sort_key(title) == write_key(title)


@given(st.sampled_from(["978", "979", "977"]), st.text("0123456789", min_size=10, max_size=10))
def test_thirteen_digits_are_an_isbn_if_the_library_says_so(prefix: str, rest: str) -> None:
    number = prefix + rest
    is_valid = isbn.is_valid(number) and prefix != "977"
    assert find_isbn(number) == (number if is_valid else "")
    right = prefix + rest[:-1]
    right += ean.calc_check_digit(right)
    assert find_isbn(right) == (right if prefix != "977" else "")
