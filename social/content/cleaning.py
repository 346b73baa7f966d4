"""Texts of posts: deceptive characters are removed, and length is counted in visible characters.

A character is an extended grapheme cluster (UAX 29): a family emoji or a letter with its accents counts as one.
Removing all format characters would break Persian, Hindi and half of the emoji, and NFKC would change the text.
"""

import unicodedata
from typing import Final, NamedTuple

import regex
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from common.text import remove_invisible


class Limits(NamedTuple):
    """The maximum lengths of a text: visible characters, and code points, since a character may consist of several.

    input_code_points: before the text is cleaned.
    """

    characters: int
    code_points: int
    input_code_points: int


MAX_CHARACTERS: Final = 500  # characters
MAX_INPUT_CODE_POINTS: Final = 10_000  # code points of the input
OF_POSTS: Final = Limits(MAX_CHARACTERS, 5000, MAX_INPUT_CODE_POINTS)
OF_REVIEWS: Final = Limits(20_000, 60_000, 100_000)
# Code points per character; a longer character counts as several. The longest emoji has ten.
CODE_POINTS_PER_CHARACTER: Final = 16
MAX_MARKS: Final = 5  # on one letter; Hebrew and Tibetan use up to five, and longer piles are only for effect

_line_ends = regex.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
# A run of blanks is tried once, from its beginning and without backtracking, so the time is linear.
_ends_of_lines = regex.compile(r"(?<![^\S\n])[^\S\n]++(?=\n)")
_blank_lines = regex.compile(r"\n{4,}")
_piled_up = regex.compile(rf"([\p{{Mn}}\p{{Me}}]{{{MAX_MARKS}}})[\p{{Mn}}\p{{Me}}]+")
_visible = regex.compile(r"[^\s\p{DI}\u2800]")
_character = regex.compile(r"\X")


def clean(text: str, limits: Limits = OF_POSTS) -> str:
    """Return ``text`` cleaned for storage. Raises ValidationError if nothing is visible in it or it is too long."""
    if len(text) > limits.input_code_points:
        raise too_long_error(len(text), limits)
    text = _line_ends.sub("\n", text).replace("\t", " ")
    # Marks are limited before normalising as well, whose time is quadratic in the marks on one letter.
    text = unicodedata.normalize("NFC", _piled_up.sub(r"\1", remove_invisible(text)))
    text = _piled_up.sub(r"\1", text)
    text = _blank_lines.sub("\n\n\n", _ends_of_lines.sub("", text)).strip()
    if not _visible.search(text):
        raise empty_error()
    if (count := count_characters(text)) > limits.characters:
        raise too_long_error(count, limits)
    if len(text) > limits.code_points:
        message = _("Use fewer accents and emoji: the text has %(count)d code points, and %(most)d are allowed.")
        raise ValidationError(message, code="too_long", params={"count": len(text), "most": limits.code_points})
    return text


def shorten(text: str) -> str:
    """Return a cleaned text, or as many of its first words as a post may have, and "…"."""
    if count_characters(text) <= MAX_CHARACTERS and len(text) <= OF_POSTS.code_points:
        return text
    # One character is left for the dots.
    parts = _character.findall(text[: OF_POSTS.code_points])[: MAX_CHARACTERS - 1]
    while count_characters("".join(parts)) >= MAX_CHARACTERS:
        parts.pop()
    beginning, _blank, _word = "".join(parts).rpartition(" ")
    # A text in a script without blanks is cut anywhere.
    return f"{beginning or ''.join(parts)}…"


def count_characters(text: str) -> int:
    """Return the number of visible characters; one of more than ``CODE_POINTS_PER_CHARACTER`` code points counts as
    several.
    """
    return sum(-(-len(found) // CODE_POINTS_PER_CHARACTER) for found in _character.findall(text))


def empty_error() -> ValidationError:
    """Return the error for a text without a visible character."""
    return ValidationError(_("Write something first."), code="empty")


def too_long_error(count: int, limits: Limits = OF_POSTS) -> ValidationError:
    """Return the error for a text with ``count`` characters."""
    message = _("The text has %(count)d characters. The maximum is %(most)d: remove %(over)d.")
    most = limits.characters
    return ValidationError(message, code="too_long", params={"count": count, "most": most, "over": count - most})
