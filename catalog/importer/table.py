"""Books in a CSV file that staff edited, with the columns of the admin's download."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.utils.translation import gettext as _

from catalog.importer.cells import is_unchanged, parse_cell
from catalog.importer.current import BOOK_FIELDS, COLUMNS, NAME_FIELDS, Values, load_values, show_value
from catalog.importer.duplicates import Identity, find_books_with_isbns, find_duplicates, identify
from catalog.models import AuthorAlias, Book
from catalog.tags.aliases import find_meant
from common.csv import KEY, RowEdit, Table, TableError, TableRow, parse_whole_number, read_table_rows

BookEdit = RowEdit[Book]
NEW_VALUES: Final[Mapping[str, Any]] = {
    **dict.fromkeys(COLUMNS, ""),
    **dict.fromkeys(NAME_FIELDS, ()),
    **dict.fromkeys(name for name in BOOK_FIELDS if Book._meta.get_field(name).null),
}


class Allowed(NamedTuple):
    """What the user may do with books."""

    add: bool
    change: bool


class _Row(NamedTuple):
    """A row of the file. id: None for a new book. values: those that differ from the present ones."""

    line: int
    id: int | None
    values: Values


def read_book_table(content: bytes, allowed: Allowed) -> Table[Book]:
    """Compare a file with the books. A row without an id is a new book."""
    return _TableReader(allowed).read(content)


class _TableReader:
    def __init__(self, allowed: Allowed) -> None:
        self.allowed = allowed
        self.errors: list[TableError] = []

    def read(self, content: bytes) -> Table[Book]:
        header, found = read_table_rows(content, [KEY, *COLUMNS], self.errors)
        if not self.errors and not set(header) & set(COLUMNS):
            self._refuse(1, "", _("The first line needs one of the columns %(names)s.") % {"names": ", ".join(COLUMNS)})
        numbered = [(row, self._read_id(row)) for row in found]
        books = load_values({pk for _row, pk in numbered if pk})
        rows = [self._read_row(row, pk, books) for row, pk in numbered if self._is_known(row, pk, books)]
        _resolve_aliases(rows)
        self._refuse_repeated(rows)
        self._refuse_taken_isbns(rows, books)
        kept = Book.objects.in_bulk(books)
        edits = []
        for row in rows:
            book = Book(title=row.values.get("title", "")) if row.id is None else kept.get(row.id)
            present = NEW_VALUES if row.id is None else books[row.id]
            changes = {}
            for column, value in row.values.items():
                if present[column] != value:
                    changes[column] = (present[column], value)
            if changes and not (self.allowed.add if row.id is None else self.allowed.change):
                text = _("You may not add books.") if row.id is None else _("You may not change books.")
                self._refuse(row.line, KEY, text)
            if changes and book is not None:
                edits.append(BookEdit(book, changes))
        return Table(edits, sorted(self.errors))

    def _refuse(self, line: int, column: str, text: str) -> None:
        self.errors.append(TableError(line, column, text))

    def _read_id(self, row: TableRow) -> int | None:
        """Return the id of a row: None for a new book, and 0 for a cell with an error."""
        cell = row.cells.get(KEY, "").strip()
        try:
            return parse_whole_number(cell) if cell else None
        except ValueError as error:
            self._refuse(row.line, KEY, str(error))
            return 0

    def _is_known(self, row: TableRow, pk: int | None, books: Mapping[int, Values]) -> bool:
        if pk is None or pk in books:
            return True
        if not any(error.line == row.line for error in self.errors):
            self._refuse(row.line, KEY, _("There is no book with this number."))
        return False

    def _read_row(self, row: TableRow, pk: int | None, books: Mapping[int, Values]) -> _Row:
        present = NEW_VALUES if pk is None else books[pk]
        values: Values = {}
        for column in COLUMNS:
            cell = row.cells.get(column)
            # A new book needs a title, whether the file has the column or not.
            if cell is None and not (pk is None and column == "title"):
                continue
            if pk is not None and is_unchanged(cell or "", show_value(present[column])):
                continue
            try:
                values[column] = parse_cell(column, cell or "")
            except ValueError as error:
                self._refuse(row.line, column, str(error))
        return _Row(row.line, pk, values)

    def _refuse_repeated(self, rows: Sequence[_Row]) -> None:
        """Refuse rows of one book, and new rows of books that exist or that another row adds."""
        seen: set[Identity] = set()
        duplicates = find_duplicates([row.values for row in rows if row.id is None])
        for row in rows:
            identity = identify(row.values) if row.id is None else (str(row.id), KEY)
            if identity in seen:
                self._refuse(row.line, KEY, _("The book is listed twice."))
            seen.add(identity)
            found = duplicates.get(identity) if row.id is None else None
            if found:
                text = _("This is book %(id)d. Enter its number here to change it.")
                self._refuse(row.line, KEY, text % {"id": found})

    def _refuse_taken_isbns(self, rows: Sequence[_Row], books: Mapping[int, Values]) -> None:
        """Refuse a new ISBN of a book that another book has after the changes of the file."""
        changed: dict[int, str] = {}
        for row in rows:
            if row.id is not None and row.values.get("isbn", books[row.id]["isbn"]) != books[row.id]["isbn"]:
                changed[row.id] = row.values["isbn"]
        present = find_books_with_isbns({isbn for isbn in changed.values() if isbn})
        for row in rows:
            isbn = changed.get(row.id) if row.id is not None else None
            if not isbn:
                continue
            owners = {pk for pk in present[isbn] if pk not in changed}
            owners.update(pk for pk, new in changed.items() if new == isbn and pk != row.id)
            if owners:
                self._refuse(row.line, "isbn", _("Book %(id)d has this ISBN.") % {"id": min(owners)})


def _resolve_aliases(rows: Sequence[_Row]) -> None:
    """Replace aliases of authors and tags by the names that they stand for."""
    authors: set[str] = set()
    tags: set[str] = set()
    for row in rows:
        authors.update(row.values.get("authors", ()))
        tags.update(row.values.get("tags", ()))
    meant = {
        "authors": dict(AuthorAlias.objects.filter(name__in=authors).values_list("name", "author__name")),
        "tags": find_meant(tags),
    }
    for row in rows:
        for column, names in meant.items():
            if column in row.values:
                resolved = dict.fromkeys(names.get(name, name) for name in row.values[column])
                row.values[column] = tuple(sorted(resolved) if column == "tags" else resolved)
