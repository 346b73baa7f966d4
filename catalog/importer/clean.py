"""Convert the text of a cell to a value. The result for unusable text is None, and the caller counts it."""

import re
import unicodedata
from decimal import Decimal

from common.ids import MAX_ID

MIN_YEAR, MAX_YEAR = -4000, 2100  # possible years of publication
MAX_AUTHORS = 100
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?(e[+-]?[0-9]{1,2})?", re.IGNORECASE)


def parse_number(text: str, most: int = MAX_ID) -> int | None:
    """Return a whole number from 0 to ``most``, also when written as 12.0."""
    if len(text) < 19 and text.isascii() and text.isdigit():  # nearly always, and five times as fast
        plain = int(text)
        return plain if plain <= most else None
    value = _parse_decimal(text)
    if value is None or value != value.to_integral_value() or not 0 <= value <= most:
        return None
    return int(value)


def parse_year(text: str) -> int | None:
    """Return a year. Negative years are BC, and there is no year 0."""
    value = _parse_decimal(text)
    if value is None or value != value.to_integral_value() or not MIN_YEAR <= value <= MAX_YEAR:
        return None
    return int(value) or None


def parse_rating(text: str) -> Decimal | None:
    """Return a mean rating from 0 to 5, rounded to two decimal places."""
    value = _parse_decimal(text)
    return value.quantize(Decimal("0.01")) if value is not None and 0 <= value <= 5 else None


def _parse_decimal(text: str) -> Decimal | None:
    # The exponent has at most two digits, because the digits of 1e999999 would fill the memory.
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def parse_isbn(ten: str, thirteen: str) -> str | None:
    """Return an ISBN with a correct check digit: ten digits (with leading zeros restored), else thirteen, else None.

    A number such as 9.78043902348e+12 has lost its last digits and is no ISBN.
    """
    short = ten.replace("-", "").upper()
    if re.fullmatch(r"[0-9]{6,9}[0-9X]", short):
        short = short.zfill(10)
        total = sum((10 - i) * (10 if digit == "X" else int(digit)) for i, digit in enumerate(short))
        if total % 11 == 0 and short.strip("0"):
            return short
    for text in (short, thirteen.replace("-", "")):
        if re.fullmatch(r"97[89][0-9]{10}", text):
            total = sum((1 + 2 * (i % 2)) * int(digit) for i, digit in enumerate(text))
            if total % 10 == 0:
                return text
    return None


def shorten(text: str, longest: int) -> str:
    """Return ``text``, cut to ``longest`` characters with an ellipsis at the end if it is longer."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def split_authors(text: str, longest: int) -> list[str]:
    """Return the distinct names of a comma-separated list, in its order and with single blanks inside."""
    names = (" ".join(unicodedata.normalize("NFC", name).split()) for name in text.split(","))
    return list(dict.fromkeys(shorten(name, longest) for name in names if name))[:MAX_AUTHORS]
