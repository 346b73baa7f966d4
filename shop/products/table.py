"""Prices, stock and weights of products in a CSV file, with the columns of the admin's download."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from django.utils.translation import gettext as _

from common.csv import KEY, Table, TableError, TableRow, parse_whole_number, read_table_rows, unescape_formula
from common.ids import MAX_ID
from shop.models import Product
from shop.services.products import MAX_STOCK, ProductEdit

# The largest values of the columns, and the fields that they change. Other columns are ignored.
COLUMNS: Final[Mapping[str, tuple[str, int]]] = {
    "price_in_cents": ("price", 2**31 - 1),
    "stock": ("stock", MAX_STOCK),
    "grams": ("grams", 2**31 - 1),
}


class _Row(NamedTuple):
    line: int
    product: int
    values: dict[str, int]


def read_product_table(content: bytes) -> Table[Product]:
    """Compare a file with the products."""
    errors: list[TableError] = []
    header, found = read_table_rows(content, [KEY, *COLUMNS], errors)
    if not errors and (KEY not in header or len(header) == 1):
        text = _("The first line needs the column id and one of %(names)s.") % {"names": ", ".join(COLUMNS)}
        return Table([], [TableError(1, "", text)])
    rows = [row for row in (_read_row(each, errors) for each in found) if row is not None]
    products = Product.objects.select_related("book").in_bulk([row.product for row in rows])
    edits: list[ProductEdit] = []
    seen: set[int] = set()
    for row in rows:
        product = products.get(row.product)
        if product is None or row.product in seen:
            text = _("There is no product with this number.") if product is None else _("The product is listed twice.")
            errors.append(TableError(row.line, KEY, text))
            continue
        seen.add(row.product)
        if row.values.get("price") == 0 != product.price:
            errors.append(TableError(row.line, "price_in_cents", _("A price of 0 is set on the page of the product.")))
        if row.values.get("stock", product.stock) < product.reserved:
            text = _("%(n)d copies are reserved for orders: the stock cannot be lower.")
            errors.append(TableError(row.line, "stock", text % {"n": product.reserved}))
        edit = ProductEdit.compare(product, row.values)
        if edit.changes:
            edits.append(edit)
    return Table(edits, sorted(errors))


def _read_row(row: TableRow, errors: list[TableError]) -> _Row | None:
    """Return a row, or None if it has an error, which is added to ``errors``."""
    limits = {KEY: (KEY, MAX_ID), **COLUMNS}
    values: dict[str, int] = {}
    before = len(errors)
    for column, (field, most) in limits.items():
        cell = unescape_formula(row.cells.get(column, "")).strip()
        if not cell and column != KEY:  # an empty cell changes nothing
            continue
        try:
            values[field] = parse_whole_number(cell, most)
        except ValueError as error:
            errors.append(TableError(row.line, column, str(error)))
    return _Row(row.line, values.pop(KEY), values) if len(errors) == before else None
