"""What the cart says about the price of delivery, before the buyer has named a country."""

from collections.abc import Iterable
from functools import lru_cache
from time import monotonic
from typing import Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.utils.translation import gettext as _

from shop.addresses.countries import get_country_name
from shop.delivery.quotes import list_methods
from shop.models import DeliveryMethod
from shop.money import format_money

KEPT_SECONDS: Final = 60  # for how long a process keeps the methods, because the cart needs no SQL otherwise


def describe_delivery(goods: int) -> str:
    """Return a sentence about delivery for a cart, or "" if the shop has no methods. goods: its total, in cents.

    The amount from which delivery is free is that of the seller's country, which the sentence names.
    """
    found = _load_free_amounts(int(monotonic() // KEPT_SECONDS))
    if found is None:
        return ""
    amounts = [amount for amount in found if amount is not None]
    if not amounts:
        return _("Plus delivery.")
    country, free_from = get_country_name(settings.SELLER_COUNTRY), min(amounts)
    if goods >= free_from:
        return _("Free delivery in %(country)s.") % {"country": country}
    text = _("Plus delivery. Spend %(missing)s more for free delivery in %(country)s.")
    return text % {"country": country, "missing": format_money(free_from - goods)}


@lru_cache(maxsize=1)
def _load_free_amounts(_minute: int) -> Iterable[int | None] | None:
    """Return ``free_from`` of the methods in the seller's country, or None if the shop has no methods at all."""
    try:
        methods = DeliveryMethod.objects.offered()
        if not methods:
            return None
        return tuple(method.free_from for method in list_methods(methods, settings.SELLER_COUNTRY))
    except (DatabaseError, InterfaceError):
        # The cart comes from Redis and is shown without SQL.
        return None


def forget_methods() -> None:
    """Read the methods again for the next cart."""
    _load_free_amounts.cache_clear()
