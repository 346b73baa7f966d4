"""Zones, methods and prices of delivery for the demo."""

from typing import Final

from django.db import transaction

from shop.models import DeliveryMethod, DeliveryPrice, DeliveryZone

EU_COUNTRIES: Final = "AT BE BG CY CZ DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK"
# Zone, countries, and its methods: name, working days, cents from which it is free, prices in cents by grams.
ZONES: Final = (
    (
        "Germany",
        "DE",
        (
            ("Standard", (2, 3), 5_000, {1_000: 390, 5_000: 590, 30_000: 990}),
            ("Express", (1, 1), None, {5_000: 1_290, 30_000: 1_990}),
        ),
    ),
    ("European Union", EU_COUNTRIES, (("Standard", (4, 7), 10_000, {2_000: 990, 10_000: 1_490}),)),
    ("Elsewhere", "", (("International", (8, 15), None, {2_000: 1_990, 10_000: 3_490}),)),
)


@transaction.atomic
def add_delivery() -> bool:
    """Add zones with methods, unless the shop has some. Return whether they were added."""
    if DeliveryZone.objects.exists():
        return False
    for name, countries, methods in ZONES:
        zone = DeliveryZone.objects.create(name=name, countries=countries)
        for method_name, (first, last), free_from, prices in methods:
            method = DeliveryMethod.objects.create(
                zone=zone, name=method_name, min_days=first, max_days=last, free_from=free_from
            )
            DeliveryPrice.objects.bulk_create(
                DeliveryPrice(method=method, max_grams=grams, price=price) for grams, price in prices.items()
            )
    return True
