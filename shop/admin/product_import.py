"""The page that changes prices, stock and weights of products by a CSV file."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools import ImportAdmin
from common.csv import KEY, Table
from shop.models import Product
from shop.money import format_money
from shop.products.table import COLUMNS, read_product_table
from shop.services.products import ProductEdit, apply_edits


class ProductImportAdmin(ImportAdmin):
    """Base of the admin of products."""

    import_title = _("Import products")
    import_hint = _("Empty cells and other columns change nothing.")
    import_columns = (KEY, *COLUMNS)

    def read_table(self, request: HttpRequest, content: bytes) -> Table[Product]:
        return read_product_table(content)

    def apply_edits(self, edits: Sequence[ProductEdit]) -> Sequence[Product]:
        apply_edits(edits)
        return ()  # products are added on pages of their own

    def format_import_value(self, field: str, value: Any) -> str:
        return format_money(value) if field == "price" else str(value)
