"""The lines of the cart page, with current prices and stock."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from catalog.listing import BookRecord
from mirror.read import read_from_primary
from shop.carts.reading import CartView
from shop.catalog_hooks.buy_box import MAX_FEW_COPIES
from shop.products.prices import Price
from shop.products.results import ProductRecord
from shop.selectors.products import get_products_and_books


@dataclass(frozen=True)
class CartLine:
    """One product on the cart page.

    left: copies that can be bought, or None if the product is not for sale any more. price_when_added: the price of one
    copy when it was added, in cents; 0 if unknown. book: its record, or its id and no title if it was deleted.
    """

    product_id: int
    title: str
    book: Mapping[str, Any]
    quantity: int
    price: Price | None
    left: int | None
    price_when_added: int

    @property
    def problem(self) -> str:
        """The reason why this line cannot be bought: "gone", "sold_out", "short", or "" if it can."""
        if self.left is None:
            return "gone"
        if self.left <= 0:
            return "sold_out"
        return "short" if self.left < self.quantity else ""

    @property
    def is_few(self) -> bool:
        """Whether the line can be bought and few copies are left."""
        return not self.problem and (self.left or 0) <= MAX_FEW_COPIES

    @property
    def price_change(self) -> str:
        """The direction in which the price moved since the product was added: "rose", "fell" or ""."""
        if self.price is None or not self.price_when_added or self.price.cents == self.price_when_added:
            return ""
        return "rose" if self.price.cents > self.price_when_added else "fell"

    @property
    def total(self) -> int | None:
        """The price of the whole line in cents, or None if it cannot be bought."""
        return None if self.price is None or not self.left else self.quantity * self.price.cents

    @property
    def max_quantity(self) -> int:
        """The largest quantity that the page offers: the limit of a cart, or the present quantity if that is greater.

        The stock is not the limit. Copies may come back while the visitor looks at the page, and the line says when too
        few are left.
        """
        return max(self.quantity, settings.SHOP_CART_QUANTITY)

    def as_json(self) -> dict[str, Any]:
        """Return the line for the JSON API, with money in cents."""
        return {
            "product": self.product_id,
            "title": self.title,
            "quantity": self.quantity,
            "price": self.price and self.price.cents,
            "was": self.price and self.price.was,
            "price_when_put_in": self.price_when_added or None,
            "stock": self.left or 0,
            "problem": self.problem or None,
            "total": self.total,
        }


@dataclass(frozen=True)
class CartPage:
    """A cart as its page shows it."""

    lines: list[CartLine]
    version: int

    @property
    def total(self) -> int:
        """The price in cents of all lines that can be bought."""
        return sum(line.total or 0 for line in self.lines)

    @property
    def copies(self) -> int:
        """The number of copies in the cart."""
        return sum(line.quantity for line in self.lines)

    @property
    def is_buyable(self) -> bool:
        """Whether a copy of any line can be bought. Otherwise there is no total, no delivery and no checkout."""
        return any(line.problem in ("", "short") for line in self.lines)

    @property
    def has_problem(self) -> bool:
        """Whether any line cannot be bought as it is."""
        return any(line.problem for line in self.lines)

    def as_json(self) -> dict[str, Any]:
        """Return the cart for the JSON API, with money in cents."""
        return {
            "lines": [line.as_json() for line in self.lines],
            "copies": self.copies,
            "total": self.total,
            "currency": settings.SHOP_CURRENCY,
            "version": self.version,
        }


def make_cart_page(cart: CartView) -> CartPage:
    """Return the page of a cart. A book that was deleted is a line without a title.

    With warm mirrors it takes 1 round trip and no SQL; an empty cart takes neither.
    """
    ids = list(cart.lines)
    # Not from a replica, which may lack the latest prices and stock.
    with read_from_primary():
        products, books = get_products_and_books(ids)
    lines = [_make_line(pk, cart, products.get(pk), books.get(pk)) for pk in ids]
    return CartPage(lines, cart.version)


def _make_line(pk: int, cart: CartView, product: ProductRecord | None, book: BookRecord | None) -> CartLine:
    is_sold = product is not None and bool(product["is_active"])
    return CartLine(
        product_id=pk,
        title=book["title"] if book else "",
        book=book or {"id": pk, "title": ""},
        quantity=cart.lines[pk],
        price=product.now if product is not None and is_sold else None,
        left=product["available"] if product is not None and is_sold else None,
        price_when_added=cart.prices.get(pk, 0),
    )
