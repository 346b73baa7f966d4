"""Convert the text of a cell to a value. The result for unusable text is None, and the caller counts it."""

import re
import unicodedata
from decimal import Decimal

from catalog.values.isbns import is_isbn, parse_isbn
from catalog.values.languages import is_known_code
from catalog.values.ratings import is_possible_rating
from catalog.values.years import is_possible_year
from common.ids import MAX_ID

MAX_AUTHORS = 100
MAX_LANGUAGE_LENGTH = 10
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?(e[+-]?[0-9]{1,2})?", re.IGNORECASE)


def parse_number(text: str, most: int = MAX_ID) -> int | None:
    """Return a whole number from 0 to ``most``, also when written as 12.0."""
    # Nearly always, and five times as fast as by Decimal.
    if len(text) < 19 and text.isascii() and text.isdigit():
        plain = int(text)
        return plain if plain <= most else None
    value = _parse_integer(text)
    return value if value is not None and 0 <= value <= most else None


def parse_year(text: str) -> int | None:
    """Return a year of publication."""
    value = _parse_integer(text)
    return value if value is not None and is_possible_year(value) else None


def parse_rating(text: str) -> Decimal | None:
    """Return a mean rating from 0 to 5, rounded to two decimal places."""
    value = _parse_decimal(text)
    if value is None or not is_possible_rating(value):
        return None
    return value.quantize(Decimal("0.01"))


def parse_language(text: str) -> str | None:
    """Return the code of a language, as it is written."""
    return text if len(text) <= MAX_LANGUAGE_LENGTH and is_known_code(text) else None


def _parse_integer(text: str) -> int | None:
    value = _parse_decimal(text)
    if value is None or value != value.to_integral_value():
        return None
    return int(value)


def _parse_decimal(text: str) -> Decimal | None:
    # The exponent has at most two digits, because the digits of 1e999999 would fill the memory.
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def pick_isbn(ten: str, thirteen: str) -> str | None:
    """Return the ISBN of a book, from the column for ten digits (with leading zeros restored), else from the other one.

    A number such as 9.78043902348e+12 has lost its last digits and is no ISBN.
    """
    # A spreadsheet takes an ISBN for a number and drops its leading zeros.
    full = ten.zfill(10) if re.fullmatch(r"[0-9]{6,9}[0-9Xx]", ten) else ten
    for text in (full, thirteen):
        if is_isbn(text):
            return parse_isbn(text)
    return None


def shorten(text: str, longest: int) -> str:
    """Return ``text``, cut to ``longest`` characters with an ellipsis at the end if it is longer."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def split_authors(text: str, longest: int) -> list[str]:
    """Return the distinct names of a comma-separated list, in its order and with single blanks inside."""
    names = (" ".join(unicodedata.normalize("NFC", name).split()) for name in text.split(","))
    return list(dict.fromkeys(shorten(name, longest) for name in names if name))[:MAX_AUTHORS]
