"""The lines of the checkout page, at current prices."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from common import clock
from mirror.read import read_from_primary
from shop.carts.reading import CartView
from shop.delivery.days import get_shop_day
from shop.delivery.quotes import DeliveryOption, choose_option, list_options, load_vat_classes
from shop.delivery.vat import compute_vat, find_rates, sum_by_rate
from shop.products.prices import Price
from shop.selectors.products import get_products_and_books
from shop.services.errors import Shortage


@dataclass(frozen=True)
class CheckoutLine:
    """One product on the checkout page. left: copies that can be bought. is_withdrawn: whether it is not for sale.

    book: its record, or its id and title.
    """

    product_id: int
    title: str
    book: Mapping[str, Any]
    quantity: int
    price: Price
    left: int
    is_withdrawn: bool

    @property
    def total(self) -> int:
        """The price of the line, in cents. A line without copies costs nothing, as on the page of the cart."""
        return self.quantity * self.price.cents if self.left > 0 else 0

    @property
    def is_short(self) -> bool:
        """Whether fewer copies are left than the line needs."""
        return self.left < self.quantity


@dataclass(frozen=True)
class CheckoutPage:
    """A cart as the checkout page shows it.

    version: the version of the cart. options: the methods that deliver it, the cheapest first. chosen: one of them, or
    None if nothing delivers it. vat: in cents by rate, empty for an export, None if the shop charges none.
    """

    version: int
    lines: list[CheckoutLine]
    options: Sequence[DeliveryOption] = ()
    chosen: DeliveryOption | None = None
    vat: Mapping[str, int] | None = None

    @property
    def goods(self) -> int:
        """The price of the books, in cents."""
        return sum(line.total for line in self.lines)

    @property
    def total(self) -> int:
        """The price of the cart with its delivery, in cents."""
        return self.goods + (self.chosen.price if self.chosen else 0)

    @property
    def has_methods(self) -> bool:
        """Whether the shop has methods of delivery, so that the page shows the chosen one."""
        return self.chosen is None or self.chosen.method_id is not None

    @property
    def is_free(self) -> bool:
        """Whether the cart costs nothing, so that no card is needed."""
        return self.total == 0

    @property
    def is_buyable(self) -> bool:
        """Whether a copy of any line can be bought. Otherwise there is no total and no delivery."""
        return any(line.left > 0 for line in self.lines)

    @property
    def is_short(self) -> bool:
        """Whether any line has too few copies left."""
        return any(line.is_short for line in self.lines)


class Target(NamedTuple):
    """Where the cart is delivered, and the chosen method (None: the cheapest one)."""

    country: str
    method_id: int | None = None


def make_checkout_page(cart: CartView, target: Target, shortages: Iterable[Shortage] = ()) -> CheckoutPage:
    """Return the cart as the checkout page shows it.

    With warm mirrors it takes 1 round trip; SQL answers for delivery and VAT alone: one query for a shop without both.
    shortages: of products, more recent than Redis.
    """
    # Not from a replica, which may lack the latest prices and stock.
    with read_from_primary():
        products, books = get_products_and_books(list(cart.lines))
    short = {shortage.product_id: shortage for shortage in shortages}
    lines = []
    for pk, quantity in cart.lines.items():
        product, book = products.get(pk), books.get(pk)
        is_withdrawn = product is None or not product["is_active"]
        left = product["available"] if product and not is_withdrawn else 0
        if pk in short:
            left, is_withdrawn = short[pk].left, is_withdrawn or short[pk].is_withdrawn
        price = product.now if product else Price(0)
        shown: Mapping[str, Any] = book or {"id": pk, "title": f"#{pk}"}
        lines.append(CheckoutLine(pk, shown["title"], shown, quantity, price, left, is_withdrawn))
    page = CheckoutPage(cart.version, lines)
    return _add_delivery(page, cart.lines, target) if page.is_buyable else page


def _add_delivery(page: CheckoutPage, quantities: Mapping[int, int], target: Target) -> CheckoutPage:
    """Return the page with the options of delivery and the VAT that its total includes."""
    options = list_options(quantities, target.country, page.goods, get_shop_day(clock.now()))
    # A method that does not deliver to the chosen country gives way to the cheapest one that does.
    chosen = choose_option(options, target.method_id) or choose_option(options, None)
    page = replace(page, options=options, chosen=chosen)
    if find_rates(target.country) is None:
        return page
    kinds = load_vat_classes(list(quantities))
    parts = [(line.total, kinds.get(line.product_id, "")) for line in page.lines]
    vat = compute_vat(target.country, parts, chosen.price if chosen else 0)
    return replace(page, vat=sum_by_rate([*vat.lines, vat.delivery], target.country) if vat else None)
