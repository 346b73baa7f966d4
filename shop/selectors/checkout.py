"""The lines of the checkout page, at current prices."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.models import User
from shop.models import Order
from shop.products.prices import Price
from shop.selectors.products import get_products_and_books


@dataclass(frozen=True)
class CheckoutLine:
    """One product on the checkout page. left: copies that can be bought."""

    product_id: int
    title: str
    quantity: int
    price: Price
    left: int

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


def make_checkout_page(
    quantities: Mapping[int, int], version: int, left: Mapping[int, int] | None = None
) -> CheckoutPage:
    """Return the cart as the checkout page shows it. With warm mirrors it takes 1 round trip and no SQL.

    left: stock by product id that is more recent than Redis'.
    """
    ids = list(quantities)
    products, books = get_products_and_books(ids)
    known, lines = left or {}, []
    for pk, quantity in quantities.items():
        product, book = products.get(pk), books.get(pk)
        there = product["available"] if product and product["is_active"] else 0
        price = product.now if product else Price(0)
        lines.append(CheckoutLine(pk, book["title"] if book else f"#{pk}", quantity, price, known.get(pk, there)))
    return CheckoutPage(version, lines)


def get_initial_address(user: User) -> dict[str, str]:
    """Return the initial address of the form: that of the user's last order, or the user's name and e-mail address."""
    last = Order.objects.of_user(user.pk).first()
    if last is None:
        return {"name": user.username, "email": user.email}
    return {"name": last.name, "email": last.email, "address": last.address}
