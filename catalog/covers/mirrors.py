"""The mirror that keeps the designs of drawn covers in SQL equal to the tags, however these were written.

A column, because posts, orders and profiles show covers and know no tags.
"""

from collections.abc import Mapping, Sequence

from django.db import connections
from django.utils.translation import gettext_lazy as _

import mirror
from catalog.books.links import find_books_with_tags
from catalog.books.records import load_book_rows
from catalog.covers.designs import choose_design
from catalog.models import Book, Tag, Tagging, TagVote
from common.ids import parse_ids
from mirror import TableMirror, Watch
from mirror.conf import setting
from mirror.utils import arrays

_TYPES = {"id": "bigint", "design": "text"}


@mirror.register
class DesignMirror(TableMirror):
    """The design of each book's drawn cover, in the book's row."""

    name = "cover_design"
    label = _("designs of covers")
    tables = "cover_designs"
    model = Book
    # Nobody waits for it: a cover may have its former design for a moment.
    drain = "relay"
    watches = (
        Watch(Book, only=("id",)),
        Watch(Tagging, "book_id"),
        Watch(TagVote, "book_id"),
        Watch(Tag, via=find_books_with_tags, only=("name", "hidden"), inserts=False),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, str]:
        rows = load_book_rows(parse_ids(pks))
        return {str(row.id): choose_design(name for _count, name in row.top_tags) for row in rows}

    def stored(self, pks: Sequence[str]) -> Mapping[str, str]:
        rows = Book.objects.using(setting("DATABASE")).filter(pk__in=parse_ids(pks)).order_by()
        return {str(pk): design for pk, design in rows.values_list("pk", "design")}

    def stored_after(self, after: str | None, limit: int) -> list[str]:
        return self.keys_after(after, limit)

    def replace(self, pks: Sequence[str], rows: Mapping[str, str]) -> None:
        database = setting("DATABASE")
        # In the order of other writers of several books, so that neither waits for the other.
        list(Book.objects.using(database).filter(pk__in=parse_ids(pks)).order_by("pk").select_for_update().only("pk"))
        source, values = arrays.make_table(_TYPES, [(int(pk), design) for pk, design in rows.items()])
        with connections[database].cursor() as cursor:
            cursor.execute(
                f"UPDATE catalog_book SET design = given.design FROM {source}"
                " WHERE catalog_book.id = given.id AND catalog_book.design <> given.design",
                values,
            )
