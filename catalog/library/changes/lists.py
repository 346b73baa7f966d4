"""Lists of rows: tags and shelves of other services."""

from collections.abc import Iterable, Sequence
from datetime import date

from django.db.models import Count, Max

from catalog.library.changes.rows import Chunk, collect_changes, get_book_id
from catalog.library.models import ImportRow, LibraryImport
from catalog.lists.models import MAX_BOOKS, MAX_LISTS, MAX_NAME_LENGTH, ListedBook, ReadingList
from catalog.lists.services import GAP
from catalog.shelves.models import Privacy


class _OpenList:
    """A list under its lock. last: the position of its last book. books: those of the chunk that are on it."""

    def __init__(self, row: ReadingList) -> None:
        self.row = row
        self.last = 0
        self.count = 0
        self.books: set[int] = set()

    def add(self, book_id: int, day: date) -> ListedBook | None:
        """Return an unsaved row at the end of the list; None if the book is on it, or it is full."""
        if book_id in self.books or self.count >= MAX_BOOKS:
            return None
        self.books.add(book_id)
        self.count += 1
        self.last += GAP
        return ListedBook(reading_list=self.row, book_id=book_id, position=self.last, added_on=day)


def apply_lists(load: LibraryImport, chunk: Chunk, today: date) -> None:
    """Put books on the reader's lists with the names that rows tell. Missing lists are made."""
    names: set[str] = set()
    for told in chunk.told:
        names.update(map(_shorten, told.lists))
    if not names:
        return
    lists = _open_lists(load, names)
    _read_books(lists.values(), chunk.books)
    made: list[ListedBook] = []
    makers: list[ImportRow] = []
    for row, told in chunk.pairs():
        for name in told.lists:
            found = lists.get(_shorten(name).casefold())
            one = found.add(get_book_id(row), told.added_on or today) if found else None
            if one is not None:
                made.append(one)
                makers.append(row)
    ListedBook.objects.bulk_create(made)
    for one, row in zip(made, makers, strict=True):
        row.changes.setdefault("listed", []).append(one.pk)


def _shorten(name: str) -> str:
    return name[:MAX_NAME_LENGTH]


def _open_lists(load: LibraryImport, names: set[str]) -> dict[str, _OpenList]:
    """Return the reader's lists, by name in lower case, under their locks.

    Missing ones are made up to the limit, visible only to the reader, who may not want to publish them here.
    """
    lists: dict[str, _OpenList] = {}
    for row in ReadingList.objects.select_for_update().filter(user_id=load.user_id).order_by("pk"):
        lists.setdefault(row.name.casefold(), _OpenList(row))
    for name in sorted(names):
        if name.casefold() in lists or len(lists) >= MAX_LISTS:
            continue
        row = ReadingList.objects.create(user_id=load.user_id, name=name, privacy=Privacy.ME)
        lists[name.casefold()] = _OpenList(row)
        load.lists.append(row.pk)
    return lists


def _read_books(lists: Iterable[_OpenList], books: set[int]) -> None:
    """Read the end of each list, and which of these books are on it."""
    by_id: dict[int, _OpenList] = {}
    for one in lists:
        by_id[one.row.pk] = one
    rows = ListedBook.objects.filter(reading_list__in=list(by_id))
    ends = rows.values_list("reading_list_id").annotate(Max("position"), Count("pk")).order_by()
    for pk, last, count in ends:
        by_id[pk].last, by_id[pk].count = last, count
    for pk, book in rows.filter(book_id__in=books).values_list("reading_list_id", "book_id"):
        by_id[pk].books.add(book)


def undo_lists(rows: Sequence[ImportRow]) -> None:
    """Take the books from the lists to which rows added them."""
    ListedBook.objects.filter(pk__in=collect_changes(rows, "listed")).delete()


def delete_empty_lists(load: LibraryImport) -> None:
    """Delete the lists that the import made, if they are empty."""
    ReadingList.objects.filter(pk__in=load.lists, user_id=load.user_id, books=None).delete()
    load.lists = []
