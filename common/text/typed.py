"""Clean what people type or paste, before any form or view validates it.

Input methods, copied web pages and right-to-left editors add invisible characters, and full-width or local digits.
``common.middleware.typed`` applies this to every parameter of every form; views with a JSON body call it themselves.
Field classes would miss the forms of the admin and of Django, and views without forms. NFKC would change Chinese
punctuation.
"""

import string
import unicodedata
from typing import Final

import regex

from common.text.invisible import remove_invisible_from_field

MAX_CLEANED: Final = 20_000  # characters; a longer value is left as it is, and no field accepts it
# Posts have rules of their own (``social.content.cleaning``), and a password is never changed.
_UNTOUCHED: Final = regex.compile(r"text|.*password.*|csrfmiddlewaretoken")
# Letters, digits, and the signs of addresses and numbers. Other full-width signs are ordinary Chinese punctuation.
_FULL_WIDTH: Final = {ord(letter) + 0xFEE0: letter for letter in f"@.-_+{string.digits}{string.ascii_letters}"}
_blank_pattern = regex.compile(r"\p{Zs}")
_number_pattern = regex.compile(r"[\p{Nd}\p{Zs}\p{Pd}\u2212.,+:/]+")
# Persian keyboards leave a non-joiner behind a word, where it changes nothing.
_loose_joiner_pattern = regex.compile(r"\u200C(?![\p{L}\p{M}])")
_dash_pattern = regex.compile(r"[\p{Pd}\u2212]")


def is_clean(value: str) -> bool:
    """Return whether cleaning certainly changes nothing."""
    return value.isascii() and "\r\n" not in value


def clean_parameter(name: str, value: str) -> str:
    """Return the value of the parameter ``name`` without invisible characters, in ordinary letters, digits and blanks.
    An end of a line is one character.

    Joiners stay where letters need them. In a value that is a number, digits of all scripts become ASCII digits.

    >>> clean_parameter("quantity", " ２\\u200b")
    ' 2'
    """
    if is_clean(value) or len(value) > MAX_CLEANED or _UNTOUCHED.fullmatch(name):
        return value
    # Browsers send each end of a line as two characters, and count one for the limit of the field.
    value = value.replace("\r\n", "\n")
    value = _loose_joiner_pattern.sub("", remove_invisible_from_field(value).translate(_FULL_WIDTH))
    value = _blank_pattern.sub(" ", value)
    if _number_pattern.fullmatch(value):
        digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in value)
        return _dash_pattern.sub("-", digits)
    return value
