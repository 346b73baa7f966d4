"""Cells of a spreadsheet of books: each function returns the value of a cell, or raises ValueError for staff."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from catalog.details.models import MAX_DESCRIPTION_LENGTH, BookDetails, Format
from catalog.importer.clean import MAX_AUTHORS
from catalog.importer.current import BOOK_FIELDS, SEPARATOR
from catalog.importer.details import FORMATS
from catalog.models import Author, Book, Tag
from catalog.names import normalise
from catalog.values.languages import validate_language
from common.csv import escape_formula, unescape_formula
from common.text import clean_parameter

MAX_TAGS: Final = 500  # of one cell


def is_unchanged(cell: str, shown: str) -> bool:
    """Return whether a cell has the text that the download has, whatever a spreadsheet did to its ends of lines."""
    same = {_normalise_lines(shown), _normalise_lines(str(escape_formula(shown)))}
    return not same.isdisjoint({_normalise_lines(cell), _normalise_lines(unescape_formula(cell))})


def parse_cell(column: str, cell: str) -> Any:
    """Return the value of a cell. Raises ValueError."""
    text = clean_parameter(column, unescape_formula(_normalise_lines(cell))).strip()
    return _PARSERS.get(column, _parse_field)(column, text)


def _normalise_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _parse_field(column: str, text: str) -> Any:
    field: Any = (Book if column in BOOK_FIELDS else BookDetails)._meta.get_field(column)
    if field.null and not text:
        return None
    return _clean(field, text)


def _parse_line(column: str, text: str) -> str:
    return str(_parse_field(column, " ".join(text.split())))


def _parse_language(column: str, text: str) -> str:
    try:
        if text:
            validate_language(text)
    except ValidationError as error:
        raise ValueError(" ".join(error.messages)) from error
    return str(_parse_field(column, text))


def _parse_format(column: str, text: str) -> str:
    name = text.lower()
    found = FORMATS.get(name, name)
    if found and found not in Format.values:
        raise ValueError(_("Enter one of these formats: %(names)s.") % {"names": ", ".join(Format.values)})
    return str(found)


def _parse_description(column: str, text: str) -> str:
    if len(text) > MAX_DESCRIPTION_LENGTH:
        raise ValueError(_("The text is longer than %(most)d characters.") % {"most": MAX_DESCRIPTION_LENGTH})
    return text


def _parse_authors(column: str, text: str) -> tuple[str, ...]:
    names = _split((unicodedata.normalize("NFC", name) for name in text.split(SEPARATOR)), MAX_AUTHORS)
    field = Author._meta.get_field("name")
    return tuple(_clean(field, name) for name in names)


def _parse_tags(column: str, text: str) -> tuple[str, ...]:
    names = _split(map(normalise, text.split(SEPARATOR)), MAX_TAGS)
    field = Tag._meta.get_field("name")
    return tuple(sorted(_clean(field, name) for name in names))


def _split(parts: Iterable[str], most: int) -> list[str]:
    """Return the distinct names in their order, with single blanks inside."""
    names = list(dict.fromkeys(name for part in parts if (name := " ".join(part.split()))))
    if len(names) > most:
        raise ValueError(_("More than %(most)d names.") % {"most": most})
    return names


def _clean(field: Any, text: str) -> Any:
    """Return the value of a field without the check that its text is unique."""
    try:
        return field.clean(text, None)
    except ValidationError as error:
        raise ValueError(" ".join(error.messages)) from error


_PARSERS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    "title": _parse_line,
    "original_title": _parse_line,
    "publisher": _parse_line,
    "language": _parse_language,
    "format": _parse_format,
    "description": _parse_description,
    "authors": _parse_authors,
    "tags": _parse_tags,
}
