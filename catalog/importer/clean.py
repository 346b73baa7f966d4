"""From a cell's text to a value. What cannot be used comes back as None; the caller counts it."""

import re
import unicodedata
from decimal import Decimal

EARLIEST, LATEST = -4000, 2100  # years in which a book can have come out
MOST_AUTHORS = 100
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?(e[+-]?[0-9]{1,2})?", re.IGNORECASE)


def number(text: str, most: int = 2**63 - 1) -> int | None:
    """A whole number from 0 to ``most``, also when written as 12.0."""
    if len(text) < 19 and text.isascii() and text.isdigit():  # nearly always, and five times as fast
        plain = int(text)
        return plain if plain <= most else None
    value = _decimal(text)
    if value is None or value != value.to_integral_value() or not 0 <= value <= most:
        return None
    return int(value)


def year(text: str) -> int | None:
    """A year; below zero is BC. There was no year 0."""
    value = _decimal(text)
    if value is None or value != value.to_integral_value() or not EARLIEST <= value <= LATEST:
        return None
    return int(value) or None


def rating(text: str) -> Decimal | None:
    """A mean of ratings, 0 to 5, to two places."""
    value = _decimal(text)
    return value.quantize(Decimal("0.01")) if value is not None and 0 <= value <= 5 else None


def _decimal(text: str) -> Decimal | None:
    # At most two digits of exponent: those of 1e999999 would fill the memory.
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def isbn(ten: str, thirteen: str) -> str | None:
    """An ISBN whose check digit is right: ten digits (leading zeros put back), else thirteen, else None.

    A number such as 9.78043902348e+12 has lost its last digits and is none.
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


def shortened(text: str, longest: int) -> str:
    """``text``, cut when it is too long, so that one sees it."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def authors(text: str, longest: int) -> list[str]:
    """The names in a comma separated list, in its order, each once, with single blanks inside."""
    names = (" ".join(unicodedata.normalize("NFC", name).split()) for name in text.split(","))
    return list(dict.fromkeys(shortened(name, longest) for name in names if name))[:MOST_AUTHORS]
