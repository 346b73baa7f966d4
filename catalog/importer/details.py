"""The details of imported books, from columns that a file may have."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from catalog.details.models import MAX_DESCRIPTION_LENGTH, MAX_PUBLISHER_LENGTH, BookDetails, Format
from catalog.importer import clean

MAX_NAME_LENGTH: Final = 300
# Formats as other data sets write them, in lower case.
FORMATS: Final[Mapping[str, Format]] = {
    "hardcover": Format.HARDCOVER,
    "hardback": Format.HARDCOVER,
    "paperback": Format.PAPERBACK,
    "mass market paperback": Format.PAPERBACK,
    "trade paperback": Format.PAPERBACK,
    "ebook": Format.EBOOK,
    "e-book": Format.EBOOK,
    "kindle edition": Format.EBOOK,
    "nook": Format.EBOOK,
    "audiobook": Format.AUDIOBOOK,
    "audio cd": Format.AUDIOBOOK,
    "audible audio": Format.AUDIOBOOK,
}


class GivenDetails(NamedTuple):
    """The details of a row. Unknown ones are empty."""

    description: str
    publisher: str
    format: str
    translators: list[str]
    illustrators: list[str]

    @property
    def contributors(self) -> list[str]:
        """The translators and illustrators."""
        return [*self.translators, *self.illustrators]


def parse_details(row: Mapping[str, str]) -> GivenDetails:
    """Return the details of a row of a file."""
    return GivenDetails(
        clean.shorten(row.get("description", ""), MAX_DESCRIPTION_LENGTH),
        clean.shorten(row.get("publisher", ""), MAX_PUBLISHER_LENGTH),
        FORMATS.get(row.get("format", "").lower(), ""),
        clean.split_authors(row.get("translators", ""), MAX_NAME_LENGTH),
        clean.split_authors(row.get("illustrators", ""), MAX_NAME_LENGTH),
    )


def add_details(given: Sequence[tuple[int, GivenDetails]], authors: Mapping[str, int]) -> None:
    """Add the details of new books. authors: the primary keys of all contributors by name."""
    known = [(pk, details) for pk, details in given if any(details)]
    BookDetails.objects.bulk_create(
        BookDetails(book_id=pk, description=details.description, publisher=details.publisher, format=details.format)
        for pk, details in known
    )
    through: dict[str, Any] = {
        "translators": BookDetails.translators.through,
        "illustrators": BookDetails.illustrators.through,
    }
    for name, links in through.items():
        pairs = [(pk, authors[person]) for pk, details in known for person in getattr(details, name)]
        links._base_manager.bulk_create(links(bookdetails_id=pk, author_id=author) for pk, author in pairs)
