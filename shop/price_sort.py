"""The order by price: the catalogue's, with what the shop knows."""

from django.db.models import Case, F, When
from django.db.models.expressions import Combinable
from django.utils.translation import gettext_lazy as _

from catalog import sorts
from shop import keys


def register() -> None:
    """Have the catalogue offer it: cheapest first, what is not for sale last. By usual prices: a sale's pass."""
    sorts.register(sorts.Sort("price", _("By price"), _("Most expensive first"), keys.prices, _price, mirror="product"))


def _price() -> Combinable:
    return Case(When(product__is_active=True, then=F("product__price")))
