"""Turn a cart into an order, exactly once for each version of the cart.

The order takes the lines out of the cart in its own transaction. Its key is derived from the cart and its version. So a
checkout that is repeated, from another window or after a crash, returns the order that it made.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils.translation import get_language

from accounts.models import User
from catalog.models import Book
from common import clock
from common.database import repeat_after_conflict
from common.refusals import Refused
from shop import shortages
from shop.carts import reading, storage
from shop.delivery.days import get_shop_day
from shop.delivery.quotes import choose_option, list_options, load_vat_classes
from shop.delivery.vat import compute_vat
from shop.models import EventKind, Order, OrderLine
from shop.products.prices import get_price_at
from shop.products.records import load_products, make_product_record
from shop.services import stock
from shop.services.errors import (
    CartChanged,
    CartEmpty,
    DeliveryGone,
    DeliveryRose,
    NoDelivery,
    PriceRose,
    Shortage,
    SoldOut,
)
from shop.services.order_steps import record_step
from shop.services.payments import sell_free_order

PRICE_FIELDS: Final = (  # of an order, which are known after its lines
    "total", "delivery_name", "delivery_price", "arrives_from", "arrives_by",
    "delivery_vat_rate", "delivery_vat", "vat",
)  # fmt: skip
MAX_ATTEMPTS: Final = 3  # attempts if copies come back between the failed reservation and the count


class OrderAddress(NamedTuple):
    """The address of an order and of emails about it.

    address: the text as on the parcel. site: the base of links in emails ("https://host"). country, address_parts: the
    country's code, and the fields by name (``shop.addresses.formats``).
    """

    name: str
    email: str
    address: str
    site: str = ""
    country: str = ""
    address_parts: Mapping[str, str] = {}
    phone: str = ""


class Wish(NamedTuple):
    """What the buyer agreed to. total: in cents, with delivery. method_id: of delivery, None for the cheapest one."""

    total: int
    address: OrderAddress
    method_id: int | None


def make_order_key(digest: str, version: int) -> str:
    """Return the key of the checkout of a cart. It contains no secret and does not depend on the site's."""
    # Not keyed with SECRET_KEY: a new secret between two submits would make a second order. A token in the form would
    # be another one in each tab.
    return hashlib.sha256(f"checkout:{digest}:{version}".encode()).hexdigest()


def begin_checkout(
    user: User | None, digest: str, *, version: int, total: int, address: OrderAddress, method_id: int | None = None
) -> Order:
    """Create the order of a cart and reserve its copies, or return the order that this checkout has made before.

    user: None for a guest. version, total: of the cart as it was shown, total in cents and with delivery. method_id:
    the chosen method of delivery, None for the cheapest one. A free order is paid at once. Raises CartChanged (or
    CartEmpty), PriceRose, NoDelivery, DeliveryGone or SoldOut; nothing is reserved then.
    """
    # Read without a lock, to refuse early. ``_place_order`` reads the cart again under its lock, and decides.
    now = reading.read_cart(digest)
    key = make_order_key(digest, version)
    if now.version != version or not now.lines:
        return _find_order(user, key, CartChanged() if now.lines else CartEmpty())
    # Redis may be behind, or another window may be faster: then this checkout has its order already.
    if short := shortages.find_shortages(now.lines):
        return _find_order(user, key, SoldOut([Shortage(pk, now.lines[pk], left) for pk, left in short.items()]))
    try:
        return _place_order(user, key, digest, version, Wish(total, address, method_id))
    except CartChanged as refusal:
        return _find_order(user, key, refusal)


def _find_order(user: User | None, key: str, refusal: Refused) -> Order:
    """Return the order that this checkout has made before. Raises the refusal if there is none."""
    order = Order.objects.filter(key=key, user=user).first()
    if order is None:
        raise refusal
    return order


@repeat_after_conflict
def _place_order(user: User | None, key: str, digest: str, version: int, wish: Wish) -> Order:
    for _n in range(MAX_ATTEMPTS):
        # The time before SQL is asked: copies may come back from then on, and a remembered shortage ends that much
        # sooner.
        asked, lines = time.monotonic(), dict[int, int]()
        try:
            with transaction.atomic():
                cart = storage.lock_cart(digest)
                if cart is None or cart.version != version or not cart.lines:
                    raise CartChanged
                lines = {pk: line.quantity for pk, line in cart.content.items()}
                # In one transaction with the order: a second submit waits for the lock, and then finds another version.
                storage.empty(cart)
                return _write_order(user, key, lines, wish)
        except stock.TooFewCopies:
            short = _list_shortages(lines)
            # No shortage any more: copies came back between the refusal and the count, so the checkout is tried again.
            if short:
                # Withdrawn books are rare, and a cached refusal could not tell them from sold ones.
                sold = {shortage.product_id: shortage.left for shortage in short if not shortage.is_withdrawn}
                shortages.remember_stock(sold, asked)
                break
    raise SoldOut(short)


def _list_shortages(lines: Mapping[int, int]) -> list[Shortage]:
    left, withdrawn = stock.count_available_copies(lines), stock.find_withdrawn(lines)
    return [Shortage(pk, count, left[pk], pk in withdrawn) for pk, count in lines.items() if left[pk] < count]


def _write_order(user: User | None, key: str, lines: Mapping[int, int], wish: Wish) -> Order:
    """Write the order of a locked cart."""
    now = clock.now()
    until = now + timedelta(seconds=settings.SHOP_RESERVATION_SECONDS)
    about = {**wish.address._asdict(), "language": get_language() or ""}
    order = Order(user=user, key=key, total=0, created_at=now, reserved_until=until, **about)
    order.save(force_insert=True)
    # Before the prices are read, because the update locks the products until the commit.
    stock.reserve_copies(lines)
    made = _make_lines(order, lines, now.timestamp())
    goods = sum(line.total for line in made)
    _add_delivery(order, lines, goods, wish.method_id)
    order.total = goods + order.delivery_price
    # A lower total needs no consent.
    if order.total > wish.total:
        raise (DeliveryRose if order.delivery_price else PriceRose)(wish.total, order.total)
    _add_vat(order, made)
    OrderLine.objects.bulk_create(made)
    order.save(update_fields=PRICE_FIELDS)
    record_step(order.pk, EventKind.ORDERED, by=user)
    # Providers refuse to charge 0, and could not be asked about such a payment.
    if order.total == 0:
        sell_free_order(order)
    return order


def _add_delivery(order: Order, lines: Mapping[int, int], goods: int, method_id: int | None) -> None:
    """Set the delivery of an order. goods: the total of its lines, in cents. Raises NoDelivery and DeliveryGone."""
    today = get_shop_day(order.created_at)
    options = list_options(lines, order.country, goods, today)
    chosen = choose_option(options, method_id)
    if chosen is None:
        raise DeliveryGone if options else NoDelivery
    order.delivery_name, order.delivery_price = chosen.name, chosen.price
    order.arrives_from, order.arrives_by = chosen.first_day, chosen.last_day


def _add_vat(order: Order, lines: Sequence[OrderLine]) -> None:
    """Set the VAT that the order and its lines include, if the shop charges VAT."""
    kinds = load_vat_classes([line.product_id for line in lines])
    vat = compute_vat(order.country, [(line.total, kinds[line.product_id]) for line in lines], order.delivery_price)
    if vat is None:
        return
    for line, (rate, cents) in zip(lines, vat.lines, strict=True):
        line.vat_rate, line.vat = rate, cents
    (order.delivery_vat_rate, order.delivery_vat), order.vat = vat.delivery, vat.total


def _make_lines(order: Order, lines: Mapping[int, int], moment: float) -> list[OrderLine]:
    """Return the lines at current prices. The products are locked at this point."""
    products = load_products(list(lines))
    prices = {row.id: get_price_at(make_product_record(row), moment).cents for row in products.values()}
    titles = dict(Book.objects.filter(pk__in=lines).values_list("pk", "title"))
    return [
        OrderLine(order=order, product_id=pk, title=titles[pk], quantity=count, price=prices[pk])
        for pk, count in sorted(lines.items())
    ]
