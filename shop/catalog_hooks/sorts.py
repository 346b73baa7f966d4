"""The order of books by price, which the shop adds to the catalogue."""

from django.db.models import Case, F, When
from django.db.models.expressions import Combinable
from django.utils.translation import gettext_lazy as _

from catalog.listing import sorts
from shop import keys


def register() -> None:
    """Register the order: cheapest first, and books that are not for sale last.

    It uses the usual prices, because sales end.
    """
    sorts.register_sort(
        sorts.Sort(
            "price",
            _("Price: low to high"),
            _("Price: high to low"),
            keys.products_by_price,
            _price_expression,
            mirror="product",
            has_gaps=True,
            is_reverse_listed=True,
        )
    )


def _price_expression() -> Combinable:
    return Case(When(product__is_active=True, then=F("product__price")))
