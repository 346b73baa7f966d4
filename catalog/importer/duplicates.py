"""Find books of a spreadsheet that the catalogue already has."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from catalog.importer.current import Values, load_author_names
from catalog.models import Book

Identity = tuple[str, ...]


def identify(values: Values) -> Identity:
    """Return what a new book has in common with no other: its ISBN, or else its title and authors."""
    isbn = values.get("isbn")
    return (isbn,) if isbn else (values.get("title", ""), *sorted(values.get("authors", ())))


def find_duplicates(new: Sequence[Values]) -> Mapping[Identity, int]:
    """Return the ids of the books that new ones would repeat, by identity."""
    wanted: set[Identity] = set()
    isbns: set[str] = set()
    titles: set[str] = set()
    for values in new:
        wanted.add(identify(values))
        if values.get("isbn"):
            isbns.add(values["isbn"])
        else:
            titles.add(values.get("title", ""))
    found: dict[Identity, int] = {}
    for isbn, pk in Book.objects.filter(isbn__in=isbns).values_list("isbn", "pk"):
        found[(isbn,)] = pk
    same = dict(Book.objects.filter(title__in=titles).values_list("pk", "title"))
    authors = load_author_names(same)
    for pk, title in same.items():
        found[identify({"title": title, "authors": authors.get(pk, ())})] = pk
    return {identity: pk for identity, pk in found.items() if identity in wanted}


def find_books_with_isbns(isbns: Collection[str]) -> Mapping[str, set[int]]:
    """Return the ids of the books with each ISBN. A few books may share one by mistake."""
    found: dict[str, set[int]] = defaultdict(set)
    for isbn, pk in Book.objects.filter(isbn__in=isbns).values_list("isbn", "pk"):
        found[isbn].add(pk)
    return found
