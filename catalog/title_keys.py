"""The mirror that keeps the sort keys of titles in SQL equal to the titles, however these were written.

A key that ``save`` writes would miss raw SQL and ``update``. A list that SQL answers first applies pending changes.
"""

from collections.abc import Mapping, Sequence

from django.db import connections
from django.utils.translation import gettext_lazy as _

import mirror
from catalog.models import Book
from catalog.values.collation import make_sort_key
from common.ids import parse_ids
from mirror import TableMirror, Watch
from mirror.conf import setting
from mirror.utils import arrays

_TYPES = {"id": "bigint", "title_key": "text"}


@mirror.register
class TitleKeyMirror(TableMirror):
    """The sort key of each title, in the book's row. Redis has the same keys, which ``BookMirror`` computes itself."""

    name = "title_key"
    label = _("order of titles")
    tables = "title_keys"
    model = Book
    watches = (Watch(Book, only=("title",)),)

    def load(self, pks: Sequence[str]) -> Mapping[str, str]:
        return {pk: make_sort_key(sort_title) for pk, sort_title in _read_books(pks, "sort_title").items()}

    def stored(self, pks: Sequence[str]) -> Mapping[str, str]:
        return _read_books(pks, "title_key")

    def stored_after(self, after: str | None, limit: int) -> list[str]:
        return self.keys_after(after, limit)

    def replace(self, pks: Sequence[str], rows: Mapping[str, str]) -> None:
        database = setting("DATABASE")
        # In the order of other writers of several books, so that neither waits for the other.
        list(Book.objects.using(database).filter(pk__in=parse_ids(pks)).order_by("pk").select_for_update().only("pk"))
        source, values = arrays.make_table(_TYPES, [(int(pk), key) for pk, key in rows.items()])
        with connections[database].cursor() as cursor:
            cursor.execute(
                f"UPDATE catalog_book SET title_key = given.title_key FROM {source}"
                " WHERE catalog_book.id = given.id AND catalog_book.title_key <> given.title_key",
                values,
            )


def _read_books(pks: Sequence[str], column: str) -> dict[str, str]:
    rows = Book.objects.using(setting("DATABASE")).filter(pk__in=parse_ids(pks)).order_by()
    return {str(pk): value for pk, value in rows.values_list("pk", column)}
