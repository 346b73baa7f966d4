"""What the checkout page shows: the lines of a cart, and what they cost at this moment."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.models import User
from shop.models import Order
from shop.prices import Price
from shop.selectors import get_products_and_books


@dataclass(frozen=True)
class Line:
    """So many copies of a product. left: how many can be bought."""

    product_id: int
    title: str
    quantity: int
    price: Price
    left: int

    @property
    def total(self) -> int:
        """What they cost together, in cents."""
        return self.quantity * self.price.cents

    @property
    def is_short(self) -> bool:
        """Whether there are too few."""
        return self.left < self.quantity


@dataclass(frozen=True)
class Shown:
    """A cart as the page shows it. version: the cart's; total: in cents."""

    version: int
    lines: list[Line]

    @property
    def total(self) -> int:
        """What the cart costs, in cents."""
        return sum(line.total for line in self.lines)

    @property
    def is_free(self) -> bool:
        """Whether it costs nothing: then no card is asked for."""
        return self.total == 0

    @property
    def is_short(self) -> bool:
        """Whether there are too few of anything."""
        return any(line.is_short for line in self.lines)


def show(quantities: Mapping[int, int], version: int, left: Mapping[int, int] | None = None) -> Shown:
    """The lines of a cart. left: what is known better than Redis says. From warm mirrors: 1 round trip, no SQL."""
    ids = list(quantities)
    products, books = get_products_and_books(ids)
    known, lines = left or {}, []
    for pk, quantity in quantities.items():
        product, book = products.get(pk), books.get(pk)
        there = product["available"] if product and product["is_active"] else 0
        price = product.now if product else Price(0)
        lines.append(Line(pk, book["title"] if book else f"#{pk}", quantity, price, known.get(pk, there)))
    return Shown(version, lines)


def address_of(user: User) -> dict[str, str]:
    """What is known of where somebody's order may go: where the last one went."""
    last = Order.objects.of(user.pk).first()
    if last is None:
        return {"name": user.username, "email": user.email}
    return {"name": last.name, "email": last.email, "address": last.address}
