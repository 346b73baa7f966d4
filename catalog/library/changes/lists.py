"""Lists of rows: tags and shelves of other services."""

from collections.abc import Iterable, Sequence
from datetime import date

from django.db.models import Count, Max

from catalog.library.changes.rows import Chunk, collect_changes, get_book_id
from catalog.library.formats import ListPlace
from catalog.library.models import ImportRow, LibraryImport
from catalog.lists.models import MAX_BOOKS, MAX_LISTS, MAX_NAME_LENGTH, ListedBook, ReadingList
from catalog.lists.services import GAP
from catalog.shelves.models import Privacy
from catalog.shelves.services import limit_privacy


class _OpenList:
    """A list under its lock. is_made: the import made it. last: the position of its last book. books: those of the
    chunk that are on it.
    """

    def __init__(self, row: ReadingList, *, is_made: bool) -> None:
        self.row = row
        self.is_made = is_made
        self.last = 0
        self.count = 0
        self.books: set[int] = set()

    def add(self, book_id: int, day: date, place: ListPlace | None) -> ListedBook | None:
        """Return an unsaved row at the end of the list; None if the book is on it, or it is full.

        place: the one that the file tells. Only a list that the import made has its order.
        """
        if book_id in self.books or self.count >= MAX_BOOKS:
            return None
        place = place or ListPlace(day, self.count)
        self.books.add(book_id)
        self.count += 1
        self.last += GAP
        position = (place.number + 1) * GAP if self.is_made else self.last
        self.last = max(self.last, position)
        return ListedBook(reading_list=self.row, book_id=book_id, position=position, added_on=place.added_on)


def apply_lists(load: LibraryImport, chunk: Chunk, today: date) -> None:
    """Put books on the reader's lists with the names that rows tell. Missing lists are made."""
    # Also those without books
    names = set(load.details.get("lists", ()))
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
            found, place = lists.get(_make_key(name)), told.details.places.get(name)
            one = found.add(get_book_id(row), told.added_on or today, place) if found else None
            if one is not None:
                made.append(one)
                makers.append(row)
    ListedBook.objects.bulk_create(made)
    for one, row in zip(made, makers, strict=True):
        row.changes.setdefault("listed", []).append(one.pk)


def preview_lists(user_id: int, chunk: Chunk) -> None:
    """Note in each row the names of the lists to which ``apply_lists`` would add its book."""
    there: set[tuple[int, str]] = set()
    rows = ListedBook.objects.filter(reading_list__user_id=user_id, book_id__in=chunk.books)
    for book, name in rows.values_list("book_id", "reading_list__name"):
        there.add((book, _make_key(name)))
    for row, told in chunk.pairs():
        for name in told.lists:
            if (get_book_id(row), _make_key(name)) not in there:
                row.changes.setdefault("listed", []).append(name)


def _shorten(name: str) -> str:
    return name[:MAX_NAME_LENGTH]


def _make_key(name: str) -> str:
    """Return what the spellings of a list's name share. Files have no commas in names, because commas separate them."""
    return " ".join(_shorten(name).replace(",", " ").split()).casefold()


def _open_lists(load: LibraryImport, names: set[str]) -> dict[str, _OpenList]:
    """Return the reader's lists, by the keys of their names, under their locks.

    Missing ones are made up to the limit: as the file tells, or visible only to the reader, who may not want to publish
    them here.
    """
    told = {_make_key(name): fields for name, fields in load.details.get("lists", {}).items()}
    lists: dict[str, _OpenList] = {}
    for row in ReadingList.objects.select_for_update().filter(user_id=load.user_id).order_by("pk"):
        lists.setdefault(_make_key(row.name), _OpenList(row, is_made=row.pk in load.lists))
    for name in sorted(names):
        if _make_key(name) in lists or len(lists) >= MAX_LISTS:
            continue
        fields = {"name": name, "privacy": Privacy.ME} | told.get(_make_key(name), {})
        fields["privacy"] = limit_privacy(load.user_id, fields["privacy"])
        row = ReadingList.objects.create(user_id=load.user_id, **fields)
        lists[_make_key(name)] = _OpenList(row, is_made=True)
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
