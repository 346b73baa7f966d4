"""The page that changes and adds books by a CSV file."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools import ImportAdmin
from catalog.details.models import BookDetails
from catalog.importer.current import COLUMNS, DETAIL_FIELDS, show_value
from catalog.importer.edits import apply_book_edits
from catalog.importer.table import Allowed, BookEdit, read_book_table
from catalog.models import Book
from common.csv import KEY, Table


class BookImportAdmin(ImportAdmin):
    """Base of the admin of books."""

    import_title = _("Import books")
    import_hint = _(
        "A row without an id is a new book. An empty cell empties the field; columns that the file lacks change"
        " nothing. Semicolons separate authors, and tags."
    )
    import_columns = (KEY, *COLUMNS)
    max_import_bytes = 1_500_000  # a description is much longer than the numbers of a product

    def may_import(self, request: HttpRequest) -> bool:
        return self.has_change_permission(request) or self.has_add_permission(request)

    def read_table(self, request: HttpRequest, content: bytes) -> Table[Book]:
        return read_book_table(content, Allowed(self.has_add_permission(request), self.has_change_permission(request)))

    def apply_edits(self, edits: Sequence[BookEdit]) -> Sequence[Book]:
        return apply_book_edits(edits)

    def get_import_label(self, field: str) -> str:
        model: Any = BookDetails if field in DETAIL_FIELDS else Book
        return str(model._meta.get_field(field).verbose_name)

    def format_import_value(self, field: str, value: Any) -> str:
        return super().format_import_value(field, show_value(value))
