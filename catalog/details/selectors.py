"""The details of a book on its page, read in the round trip of the book."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from catalog import keys
from catalog.books import extras
from catalog.details.mirrors import BookDetailsMirror
from catalog.details.models import Format
from mirror import Record
from mirror.read import read_from_sql

NAME: Final = "details"  # of the extra
NO_DETAILS: Final[Mapping[str, Any]] = {
    "description": "",
    "publisher": "",
    "format": "",
    "translators": [],
    "translator_ids": [],
    "illustrators": [],
    "illustrator_ids": [],
}


def get_format_label(name: str) -> str:
    """Return the name of a format as pages show it."""
    return str(Format(name).label) if name in Format.values else name


def register_extra() -> None:
    """Let the page of a book read its details."""
    extras.page_extras.register(
        extras.Extra(
            name=NAME,
            mirrors=["book_details"],
            add_commands=lambda pipe, book_id: pipe.get(keys.book_details(book_id)),
            parse_replies=lambda book_id, raw: NO_DETAILS if raw is None else orjson.loads(raw),
            read_from_sql=_load,
            fields=lambda details: details,
        )
    )


def _load(book_id: int) -> Mapping[str, Any]:
    with read_from_sql():
        found: Record | None = BookDetailsMirror.get(book_id)
    return NO_DETAILS if found is None else found
