"""What the cart says about delivery: its price where the reader's country is known, and else a sentence."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from time import monotonic
from typing import Final, NamedTuple

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.db.models import Subquery
from django.utils.translation import gettext as _

from common import clock
from shop.addresses.countries import get_place_name
from shop.delivery.days import get_shop_day
from shop.delivery.quotes import Parcel, list_methods, make_options
from shop.models import DeliveryMethod, Order, Product, SavedAddress
from shop.money import format_money

KEPT_SECONDS: Final = 60  # for how long a process keeps the methods, because a guest's cart needs no SQL otherwise


class DeliveryHint(NamedTuple):
    """What the cart says. text: a sentence, or "". place: a country in words; price: in cents, None if unknown."""

    text: str = ""
    place: str = ""
    price: int | None = None


def describe_delivery(goods: int, quantities: Mapping[int, int], user_id: int | None = None) -> DeliveryHint:
    """Return the hint for a cart. It is empty if the shop has no methods. goods: the total of the books, in cents.

    Readers see the price to the country of their last address or order, as the checkout begins with. For all others,
    the sentence names the seller's country. One query for readers.
    """
    own = _load_methods(settings.SELLER_COUNTRY, _get_minute())
    if own is None:
        return DeliveryHint()
    country, grams = _find_country_and_weight(user_id, quantities) if user_id else ("", 0)
    methods = _load_methods(country, _get_minute()) if country else None
    if methods is None:
        return DeliveryHint(_describe_own_country(_find_free_amount(own), goods))
    options = make_options(methods, Parcel(country, grams, goods), get_shop_day(clock.now()))
    if not options:
        return DeliveryHint(
            _("We cannot deliver this order to this country. Choose another address, or order fewer books.")
        )
    price, free_from, text = options[0].price, _find_free_amount(methods), ""
    if price and free_from is not None and free_from > goods:
        text = _("Spend %(missing)s more for free delivery.") % {"missing": format_money(free_from - goods)}
    return DeliveryHint(text, get_place_name(country), price)


def _describe_own_country(free_from: int | None, goods: int) -> str:
    if free_from is None:
        return _("Plus delivery.")
    country = get_place_name(settings.SELLER_COUNTRY)
    if goods >= free_from:
        return _("Free delivery in %(country)s.") % {"country": country}
    text = _("Plus delivery. Spend %(missing)s more for free delivery in %(country)s.")
    return text % {"country": country, "missing": format_money(free_from - goods)}


def _find_free_amount(methods: Iterable[DeliveryMethod]) -> int | None:
    """Return the total of the books, in cents, from which a method is free, or None if none is."""
    return min((method.free_from for method in methods if method.free_from is not None), default=None)


def _find_country_and_weight(user_id: int, quantities: Mapping[int, int]) -> tuple[str, int]:
    """Return the country of the reader's last address or else order, or "", and the weight of a cart. One query."""
    saved = SavedAddress.objects.of_user(user_id).values("country")[:1]
    ordered = Order.objects.of_user(user_id).values("country")[:1]
    products = Product.objects.filter(pk__in=list(quantities)).annotate(
        saved=Subquery(saved), ordered=Subquery(ordered)
    )
    try:
        rows = list(products.values_list("pk", "grams", "saved", "ordered"))
    except (DatabaseError, InterfaceError):
        # The cart comes from Redis and is shown without SQL.
        return "", 0
    country, weight = "", 0
    for pk, grams, of_address, of_order in rows:
        country = of_address or of_order or ""  # the same in each row
        weight += grams * quantities[pk]
    return country, weight


def _get_minute() -> int:
    return int(monotonic() // KEPT_SECONDS)


@lru_cache(maxsize=300)
def _load_methods(country: str, _minute: int) -> Sequence[DeliveryMethod] | None:
    """Return the methods that deliver to a country, or None if the shop has no methods at all."""
    try:
        methods = DeliveryMethod.objects.offered()
        return list_methods(methods, country) if methods else None
    except (DatabaseError, InterfaceError):
        # The cart comes from Redis and is shown without SQL.
        return None


def forget_methods() -> None:
    """Read the methods again for the next cart."""
    _load_methods.cache_clear()
