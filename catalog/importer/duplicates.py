"""Find books of a spreadsheet that the catalogue already has."""

from collections.abc import Mapping, Sequence

from catalog.importer.current import Values, load_author_names
from catalog.models import Book

Identity = tuple[str, ...]


def identify(values: Values) -> Identity:
    """Return what a new book has in common with no other: its ISBN, or else its title and authors."""
    isbn = values.get("isbn")
    return (isbn,) if isbn else (values.get("title", ""), *sorted(values.get("authors", ())))


def find_duplicates(new: Sequence[Values]) -> Mapping[Identity, int]:
    """Return the ids of the books that new ones would repeat, by identity."""
    wanted = {identify(values) for values in new}
    isbns = {values["isbn"] for values in new if values.get("isbn")}
    titles = {values.get("title", "") for values in new if not values.get("isbn")}
    found: dict[Identity, int] = {
        (isbn,): pk for isbn, pk in Book.objects.filter(isbn__in=isbns).values_list("isbn", "pk")
    }
    same = dict(Book.objects.filter(title__in=titles).values_list("pk", "title"))
    authors = load_author_names(same)
    found |= {(title, *sorted(authors.get(pk, ()))): pk for pk, title in same.items()}
    return {identity: pk for identity, pk in found.items() if identity in wanted}
