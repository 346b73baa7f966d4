"""What the page of a cart shows: its lines, what they cost at this moment, and what of them cannot be had."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from shop.buying import FEW
from shop.carts.cart import CartNow
from shop.prices import Price
from shop.results import ProductRecord
from shop.selectors import get_products_and_books


@dataclass(frozen=True)
class CartLine:
    """So many copies of a book. left: how many can be bought, None if it is not sold any more; before: what one cost
    when it was put in, in cents (0: not known).
    """

    product_id: int
    title: str
    author: str
    quantity: int
    price: Price | None
    left: int | None
    before: int

    @property
    def problem(self) -> str:
        """Why it cannot be bought like this: "gone", "sold_out", "short", or ""."""
        if self.left is None:
            return "gone"
        if self.left <= 0:
            return "sold_out"
        return "short" if self.left < self.quantity else ""

    @property
    def is_few(self) -> bool:
        """Whether it can be bought, and there are few."""
        return not self.problem and (self.left or 0) <= FEW

    @property
    def changed(self) -> str:
        """What happened to the price since it was put in: "rose", "fell", or ""."""
        if self.price is None or not self.before or self.price.cents == self.before:
            return ""
        return "rose" if self.price.cents > self.before else "fell"

    @property
    def total(self) -> int | None:
        """What they cost together, in cents; None if they cannot be had."""
        return None if self.price is None or not self.left else self.quantity * self.price.cents

    @property
    def most(self) -> int:
        """The limit of the service, but never fewer than there are in the cart now.

        Not how many are left: copies come back while somebody looks, and the line says if there are too few.
        """
        return max(self.quantity, settings.SHOP_CART_QUANTITY)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "product": self.product_id,
            "title": self.title,
            "quantity": self.quantity,
            "price": self.price and self.price.cents,
            "was": self.price and self.price.was,
            "price_when_put_in": self.before or None,
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
        """What all of it costs that can be had, in cents."""
        return sum(line.total or 0 for line in self.lines)

    @property
    def copies(self) -> int:
        """How many books there are in it."""
        return sum(line.quantity for line in self.lines)

    @property
    def has_problem(self) -> bool:
        """Whether something in it cannot be bought like this."""
        return any(line.problem for line in self.lines)

    def as_json(self) -> dict[str, Any]:
        """For programs. Money in cents."""
        return {
            "lines": [line.as_json() for line in self.lines],
            "copies": self.copies,
            "total": self.total,
            "currency": settings.SHOP_CURRENCY,
            "version": self.version,
        }


def page_of(cart: CartNow) -> CartPage:
    """A cart's page. From a warm mirror: 1 round trip and no SQL, and none of either for an empty one.

    A book that is gone altogether is a line without a title.
    """
    ids = list(cart.lines)
    products, books = get_products_and_books(ids)
    lines = [_line(pk, cart, products.get(pk), books.get(pk)) for pk in ids]
    return CartPage(lines, cart.version)


def _line(pk: int, cart: CartNow, product: ProductRecord | None, book: Any) -> CartLine:
    is_sold = product is not None and bool(product["is_active"])
    return CartLine(
        product_id=pk,
        title=book["title"] if book else "",
        author=book["authors"][0] if book and book["authors"] else "",
        quantity=cart.lines[pk],
        price=product.now if product is not None and is_sold else None,
        left=product["available"] if product is not None and is_sold else None,
        before=cart.prices.get(pk, 0),
    )
