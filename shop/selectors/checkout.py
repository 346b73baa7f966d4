"""The lines of the checkout page, at current prices."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mirror.read import read_from_primary
from shop.products.prices import Price
from shop.selectors.products import get_products_and_books
from shop.services.errors import Shortage


@dataclass(frozen=True)
class CheckoutLine:
    """One product on the checkout page. left: copies that can be bought. is_withdrawn: whether it is not for sale."""

    product_id: int
    title: str
    quantity: int
    price: Price
    left: int
    is_withdrawn: bool

    @property
    def total(self) -> int:
        """The price of the line, in cents."""
        return self.quantity * self.price.cents

    @property
    def is_short(self) -> bool:
        """Whether fewer copies are left than the line needs."""
        return self.left < self.quantity


@dataclass(frozen=True)
class CheckoutPage:
    """A cart as the checkout page shows it. version: the version of the cart."""

    version: int
    lines: list[CheckoutLine]

    @property
    def total(self) -> int:
        """The price of the cart, in cents."""
        return sum(line.total for line in self.lines)

    @property
    def is_free(self) -> bool:
        """Whether the cart costs nothing, so that no card is needed."""
        return self.total == 0

    @property
    def is_short(self) -> bool:
        """Whether any line has too few copies left."""
        return any(line.is_short for line in self.lines)


def make_checkout_page(quantities: Mapping[int, int], version: int, shortages: Iterable[Shortage] = ()) -> CheckoutPage:
    """Return the cart as the checkout page shows it. With warm mirrors it takes 1 round trip and no SQL.

    shortages: of products, more recent than Redis.
    """
    # Not from a replica, which may lack the latest prices and stock.
    with read_from_primary():
        products, books = get_products_and_books(list(quantities))
    short = {shortage.product_id: shortage for shortage in shortages}
    lines = []
    for pk, quantity in quantities.items():
        product, book = products.get(pk), books.get(pk)
        is_withdrawn = product is None or not product["is_active"]
        left = product["available"] if product and not is_withdrawn else 0
        if pk in short:
            left, is_withdrawn = short[pk].left, is_withdrawn or short[pk].is_withdrawn
        price = product.now if product else Price(0)
        lines.append(CheckoutLine(pk, book["title"] if book else f"#{pk}", quantity, price, left, is_withdrawn))
    return CheckoutPage(version, lines)
