"""Prices, stock and weights of products in a CSV file, with the columns of the admin's download."""

import io
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from django.utils.translation import gettext as _

from common.csv_lines import CsvReader, CsvRow, UnreadableRow, decode, find_delimiter, unescape_formula
from common.ids import MAX_ID
from common.text import clean_parameter
from shop.models import Product
from shop.services.products import MAX_STOCK, ProductEdit

MAX_ROWS: Final = 2000
MAX_DIGITS: Final = 18  # of a number; Python refuses thousands of them
KEY: Final = "id"
# The largest values of the columns, and the fields that they change. Other columns are ignored.
COLUMNS: Final[Mapping[str, tuple[str, int]]] = {
    "price_in_cents": ("price", 2**31 - 1),
    "stock": ("stock", MAX_STOCK),
    "grams": ("grams", 2**31 - 1),
}


class TableError(NamedTuple):
    """What is wrong in a file. line: its number in the file. column: "" for the whole line."""

    line: int
    column: str
    text: str


class ProductTable(NamedTuple):
    """The changes that a file asks for, and its errors. With an error none of the changes is made."""

    edits: list[ProductEdit]
    errors: list[TableError]


class _Row(NamedTuple):
    line: int
    product: int
    values: dict[str, int]


def read_product_table(content: bytes) -> ProductTable:
    """Compare a file with the products."""
    errors: list[TableError] = []
    rows = list(_read_rows(decode(content), errors))
    if len(rows) > MAX_ROWS:
        text = _("The file has more than %(n)s rows. Divide it.") % {"n": MAX_ROWS}
        return ProductTable([], [TableError(rows[MAX_ROWS].line, "", text)])
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
    return ProductTable(edits, sorted(errors))


def _read_rows(text: str, errors: list[TableError]) -> Iterator[_Row]:
    lines = CsvReader(io.StringIO(text, newline=""), find_delimiter(text))
    header: list[str] = []
    try:
        header = [cell.strip() for cell in next(lines, CsvRow(1, [])).cells]
        if KEY not in header or not set(COLUMNS) & set(header):
            text = _("The first line needs the column id and one of %(names)s.") % {"names": ", ".join(COLUMNS)}
            errors.append(TableError(1, "", text))
            return
        for row in lines:
            if any(cell.strip() for cell in row.cells):
                found = _read_row(header, row, errors)
                if found is not None:
                    yield found
    except UnreadableRow as error:
        errors.append(TableError(error.line, "", _("The quotes of this line are not in pairs.")))


def _read_row(header: list[str], row: CsvRow, errors: list[TableError]) -> _Row | None:
    """Return a row, or None if it has an error, which is added to ``errors``."""
    if len(row.cells) != len(header):
        text = _("The line has %(cells)d cells instead of %(columns)d.")
        errors.append(TableError(row.line, "", text % {"cells": len(row.cells), "columns": len(header)}))
        return None
    # SQL cannot store it, and the cell would not say what it seems to say without it.
    if any("\0" in cell for cell in row.cells):
        errors.append(TableError(row.line, "", _("The line has a NUL character, which no text has.")))
        return None
    cells = {name: unescape_formula(cell).strip() for name, cell in zip(header, row.cells, strict=True)}
    limits = {KEY: (KEY, MAX_ID), **COLUMNS}
    values: dict[str, int] = {}
    before = len(errors)
    for column, (field, most) in limits.items():
        cell = cells.get(column, "")
        if not cell and column != KEY:  # an empty cell changes nothing
            continue
        # Spreadsheets of East Asia write full-width digits, which forms accept as well.
        cell = clean_parameter(column, cell)
        if not (cell.isascii() and cell.isdigit() and len(cell) <= MAX_DIGITS and int(cell) <= most):
            text = _("“%(cell)s” is not a whole number from 0 to %(most)d.")
            errors.append(TableError(row.line, column, text % {"cell": cell[:40], "most": most}))
            continue
        values[field] = int(cell)
    return _Row(row.line, values.pop(KEY), values) if len(errors) == before else None
