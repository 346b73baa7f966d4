"""The methods of delivery for a parcel, with prices and days. The page and the order compute them here alike."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple

from shop.delivery.days import add_working_days, describe_arrival
from shop.models import DeliveryMethod, DeliveryZone, Product


class Parcel(NamedTuple):
    """What is delivered: the country's code, the weight, and the total of the books in cents."""

    country: str
    grams: int
    goods: int


class DeliveryOption(NamedTuple):
    """A method that delivers a parcel, its price in cents, and the days of arrival. method_id: None without methods."""

    method_id: int | None
    name: str
    price: int
    first_day: date | None = None
    last_day: date | None = None

    def describe_arrival(self, today: date) -> str:
        """Return the days of arrival in words, or "" without days."""
        return describe_arrival(self.first_day, self.last_day, today)


FREE_DELIVERY: Final = DeliveryOption(None, "", 0)


def weigh(quantities: Mapping[int, int]) -> int:
    """Return the weight of so many copies of products, in grams. One query."""
    grams = dict(Product.objects.filter(pk__in=list(quantities)).values_list("pk", "grams"))
    return sum(grams.get(pk, 0) * count for pk, count in quantities.items())


def load_vat_classes(ids: Sequence[int]) -> dict[int, str]:
    """Return the ``VatClass`` of products by id. One query."""
    return dict(Product.objects.filter(pk__in=ids).values_list("pk", "vat_class"))


def list_options(quantities: Mapping[int, int], country: str, goods: int, today: date) -> list[DeliveryOption]:
    """Return the options for a cart, the cheapest first. A site without methods delivers for free.

    Returns nothing if no method delivers to the country, or none takes the weight. goods: the total of the books, in
    cents. One query without methods, and four with them.
    """
    methods = list(DeliveryMethod.objects.offered())
    if not methods:
        return [FREE_DELIVERY]
    return make_options(list_methods(methods, country), Parcel(country, weigh(quantities), goods), today)


def make_options(methods: Iterable[DeliveryMethod], parcel: Parcel, today: date) -> list[DeliveryOption]:
    """Return the options of methods that deliver to the parcel's country, the cheapest first."""
    found = (_make_option(method, parcel, today) for method in methods)
    return sorted(
        (option for option in found if option is not None), key=lambda option: (option.price, option.method_id)
    )


def list_methods(methods: Iterable[DeliveryMethod], country: str) -> list[DeliveryMethod]:
    """Return those of the methods that deliver to a country. One query."""
    zone_ids = _find_zones(country)
    return [method for method in methods if method.zone_id in zone_ids]


def choose_option(options: Iterable[DeliveryOption], method_id: int | None) -> DeliveryOption | None:
    """Return the option of a method, or the first one if no method was chosen. None: it is not available."""
    for option in options:
        if method_id is None or option.method_id in (None, method_id):
            return option
    return None


def _find_zones(country: str) -> set[int]:
    """Return the zones of a country: those that name it, or those for all other countries."""
    zones = list(DeliveryZone.objects.all())
    named = {zone.pk for zone in zones if country in zone.codes}
    return named or {zone.pk for zone in zones if country and not zone.codes}


def _make_option(method: DeliveryMethod, parcel: Parcel, today: date) -> DeliveryOption | None:
    """Return the option of a method, or None if the parcel is too heavy for it."""
    fitting = [each for each in method.prices.all() if parcel.grams <= each.max_grams]
    if not fitting:
        return None
    price = min(fitting, key=lambda each: each.max_grams).price
    if method.free_from is not None and parcel.goods >= method.free_from:
        price = 0
    first, last = (add_working_days(today, days) for days in (method.min_days, method.max_days))
    return DeliveryOption(method.pk, method.name, price, first, last)
