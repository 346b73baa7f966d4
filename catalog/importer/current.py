"""Books as staff see them in a spreadsheet: the values of each column, and the texts of the cells."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from catalog.details.models import BookDetails
from catalog.models import Book, Tagging

# The form of a book begins with these.
FORM_FIELDS: Final = ("title", "original_title", "authors", "year", "language", "isbn", "pages")
DETAIL_FIELDS: Final = ("publisher", "format", "description")
NAME_FIELDS: Final = ("authors", "tags")
BOOK_FIELDS: Final = tuple(name for name in FORM_FIELDS if name not in NAME_FIELDS)
COLUMNS: Final = FORM_FIELDS + DETAIL_FIELDS + ("tags",)  # in the order of the download
SEPARATOR: Final = ";"  # of names in a cell; names may contain commas

Values = dict[str, Any]  # of a book, by column. Authors and tags: their names


def load_values(ids: Collection[int]) -> dict[int, Values]:
    """Return the values of the existing books among ``ids``. This takes four statements."""
    found: dict[int, Values] = {}
    for row in Book.objects.filter(pk__in=ids).values("pk", *BOOK_FIELDS):
        found[row.pop("pk")] = {**dict.fromkeys(COLUMNS, ""), **row}
    for row in BookDetails.objects.filter(pk__in=found).values("pk", *DETAIL_FIELDS):
        found[row.pop("pk")].update(row)
    authors, tags = load_author_names(found), load_tag_names(found)
    for pk, values in found.items():
        values["authors"], values["tags"] = tuple(authors.get(pk, ())), tuple(tags.get(pk, ()))
    return found


def load_author_names(ids: Iterable[int]) -> Mapping[int, Sequence[str]]:
    """Return the names of the authors of books, in their order."""
    links = Book.authors.through._base_manager.filter(book_id__in=list(ids)).order_by("pk")
    return _group(links.values_list("book_id", "author__name"))


def load_tag_names(ids: Iterable[int]) -> Mapping[int, Sequence[str]]:
    """Return the names of the tags of books, in the order of names."""
    links = Tagging.objects.filter(book_id__in=list(ids)).values_list("book_id", "tag__name")
    return {pk: sorted(names) for pk, names in _group(links).items()}


def join_names(names: Iterable[str]) -> str:
    """Return the text of a cell with several names."""
    return f"{SEPARATOR} ".join(names)


def show_value(value: Any) -> str:
    """Return the text of the cell of a value."""
    if isinstance(value, tuple):
        return join_names(value)
    return "" if value is None else str(value)


def _group(pairs: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for pk, name in pairs:
        found[pk].append(name)
    return found
