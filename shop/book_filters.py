"""The filters that the shop adds to the list of books: by price and by stock."""

from collections.abc import Mapping
from typing import Final

from django import forms
from django.db.models import F, Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from catalog import filters
from shop import keys
from shop.money import money

PRICE_FROM, PRICE_TO, IN_STOCK = "price_from", "price_to", "in_stock"
FOR_SALE: Final = Q(product__is_active=True)


def register() -> None:
    """Register the filters with the catalogue.

    Prices are the usual ones, as in the order by price, because sales end.
    """
    filters.register("price", filters.Filter(_price_fields, _narrow_prices, _describe_prices))
    filters.register("stock", filters.Filter(_stock_fields, _narrow_to_stock, lambda values: gettext("In stock")))


def _price_fields() -> Mapping[str, forms.Field]:
    return {PRICE_FROM: _price_field(), PRICE_TO: _price_field()}


def _price_field() -> forms.Field:
    return forms.DecimalField(min_value=0, max_value=9_999_999, decimal_places=2, required=False)


def _cents(values: filters.Values) -> tuple[int | None, int | None]:
    low, high = filters.read_range(values, PRICE_FROM, PRICE_TO)
    return tuple(None if price is None else int(price * 100) for price in (low, high))  # type: ignore[return-value]


def _narrow_prices(values: filters.Values) -> filters.Narrowing:
    low, high = _cents(values)
    return filters.Between("price", low, high, FOR_SALE & filters.is_between("product__price", low, high))


def _describe_prices(values: filters.Values) -> str:
    low, high = _cents(values)
    return filters.describe_range(*(None if cents is None else money(cents) for cents in (low, high)))


def _stock_fields() -> Mapping[str, forms.Field]:
    message = _("This filter must be “1” or empty.")
    return {IN_STOCK: forms.RegexField("^(1|on)$", required=False, error_messages={"invalid": message})}


def _narrow_to_stock(values: filters.Values) -> filters.Narrowing:
    return filters.InSet(keys.in_stock(), FOR_SALE & Q(product__stock__gt=F("product__reserved")))
