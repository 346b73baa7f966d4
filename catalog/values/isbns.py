"""ISBNs. One function reads every spelling, and all places store, compare and show the same thirteen digits."""

import unicodedata
from typing import Any, Final

import regex
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _
from stdnum import isbn
from stdnum.exceptions import InvalidChecksum
from stdnum.exceptions import ValidationError as InvalidNumber

MAX_WRITTEN_LENGTH: Final = 100  # characters of an ISBN with its dashes and blanks
# Between the digits: blanks, invisible characters, and dashes of any kind. The last two stand for a dash in texts
# that were written in Japanese, or on a typewriter.
_SEPARATORS: Final = r"[\s\p{Pd}\p{Cf}\u2043\u2212\u30FC\u00AF]"
_separators = regex.compile(_SEPARATORS)
_label = regex.compile(r"^\s*ISBN(?:-?1[03](?=[:\s]))?:?", regex.IGNORECASE)
_written = regex.compile(rf"(?<![0-9])[0-9](?:{_SEPARATORS}*[0-9]){{8,11}}{_SEPARATORS}*[0-9Xx](?![0-9\p{{L}}])")


class WrongCheckDigit(ValueError):
    """A number with the form of an ISBN and a wrong check digit."""


def parse_isbn(text: str) -> str:
    """Return the ISBN ``text`` as thirteen digits, from ten or thirteen digits with any dashes and blanks.

    Raises WrongCheckDigit, or ValueError for a text of another form.

    >>> parse_isbn("ISBN 0-439-02348-3")
    '9780439023481'
    """
    if _has_stored_form(text):
        return text
    written = unicodedata.normalize("NFKC", text[:MAX_WRITTEN_LENGTH])
    number = _separators.sub("", _label.sub("", written, count=1)).upper()
    # The library also accepts nine digits, and reports the check digit of other articles' numbers.
    is_long = len(number) == 13 and number.startswith(("978", "979"))
    if not (is_long or len(number) == 10) or not number.strip("0"):
        raise ValueError("An ISBN has ten or thirteen digits.")
    try:
        return isbn.validate(number, convert=True)
    except InvalidChecksum as error:
        raise WrongCheckDigit from error
    except InvalidNumber as error:
        raise ValueError(str(error)) from error


def _has_stored_form(text: str) -> bool:
    """Return whether ``text`` is thirteen digits with a correct check digit, as almost all texts to parse are.

    The library takes 30 times as long, and a rebuild parses the ISBN of each book.
    """
    if len(text) != 13 or not text.startswith(("978", "979")) or not (text.isascii() and text.isdecimal()):
        return False
    codes = text.encode()
    # The code of a digit is 48 above its value; in this sum that makes 25 * 48, a multiple of ten.
    return (sum(codes[::2]) + 3 * sum(codes[1::2])) % 10 == 0


def is_isbn(text: str) -> bool:
    """Return whether ``text`` is an ISBN with a correct check digit."""
    return find_isbn(text) != ""


def has_wrong_check_digit(text: str) -> bool:
    """Return whether ``text`` has the form of an ISBN and a wrong check digit."""
    try:
        parse_isbn(text)
    except WrongCheckDigit:
        return True
    except ValueError:
        return False
    return False


def find_isbn(text: str) -> str:
    """Return an ISBN as thirteen digits, and "" for any other text."""
    try:
        return parse_isbn(text)
    except ValueError:
        return ""


def normalise_isbn(text: str) -> str:
    """Return an ISBN as thirteen digits, and any other text unchanged."""
    return find_isbn(text) or text


def shorten_isbn(text: str) -> str:
    """Return an ISBN of thirteen digits as ten, or "" if it has no such form.

    >>> shorten_isbn("9780439023481")
    '0439023483'
    """
    return str(isbn.to_isbn10(text)) if text.startswith("978") and is_isbn(text) else ""


def find_isbns(text: str) -> list[str]:
    """Return the ISBNs in ``text``, each as thirteen digits."""
    found = _written.findall(unicodedata.normalize("NFKC", text))
    return [number for number in map(find_isbn, found) if number]


class IsbnField(models.CharField):
    """An ISBN, stored as thirteen digits on every way through the ORM. Forms refuse other texts."""

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return normalise_isbn(value) if isinstance(value, str) else value

    def to_python(self, value: Any) -> Any:
        value = super().to_python(value)
        return normalise_isbn(value) if isinstance(value, str) else value

    def clean(self, value: Any, model_instance: models.Model | None) -> Any:
        """Return the thirteen digits. Raises ValidationError."""
        if value and has_wrong_check_digit(value):
            raise ValidationError(
                _("The check digit of this ISBN is wrong. Compare each digit with the book."), code="check_digit"
            )
        if value and not is_isbn(value):
            raise ValidationError(
                _("Enter an ISBN: ten or thirteen digits, with or without dashes and spaces."), code="invalid"
            )
        return super().clean(value, model_instance)

    def formfield(self, *args: Any, **kwargs: Any) -> Any:
        """Return a form field that has room for dashes."""
        return super().formfield(*args, **{**kwargs, "max_length": MAX_WRITTEN_LENGTH})
