"""The filters that the shop adds to the list of books: by price and by stock."""

from collections.abc import Mapping
from typing import Final

from django import forms
from django.db.models import F, Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from catalog.listing import filters
from shop import keys
from shop.money import format_money, get_decimals, to_cents

PRICE_FROM, PRICE_TO, IN_STOCK = "price_from", "price_to", "in_stock"
IS_FOR_SALE: Final = Q(product__is_active=True)


def register() -> None:
    """Register the filters with the catalogue.

    Prices are the usual ones, as in the order by price, because sales end.
    """
    filters.register_filter("price", filters.Filter(_make_price_fields, _narrow_to_prices, _describe_prices))
    filters.register_filter(
        "stock", filters.Filter(_make_stock_fields, _narrow_to_stock, lambda values: gettext("In stock"))
    )


def _make_price_fields() -> Mapping[str, forms.Field]:
    return {PRICE_FROM: _make_price_field(), PRICE_TO: _make_price_field()}


def _make_price_field() -> forms.Field:
    return forms.DecimalField(min_value=0, max_value=9_999_999, decimal_places=get_decimals(), required=False)


def _read_price_range(values: filters.FilterValues) -> tuple[int | None, int | None]:
    low, high = filters.read_range(values, PRICE_FROM, PRICE_TO)
    return tuple(None if price is None else to_cents(price) for price in (low, high))  # type: ignore[return-value]


def _narrow_to_prices(values: filters.FilterValues) -> filters.Narrowing:
    low, high = _read_price_range(values)
    return filters.RangeNarrowing(
        "price", low, high, IS_FOR_SALE & filters.build_range_condition("product__price", low, high)
    )


def _describe_prices(values: filters.FilterValues) -> str:
    low, high = _read_price_range(values)
    return filters.describe_range(*(None if cents is None else format_money(cents) for cents in (low, high)))


def _make_stock_fields() -> Mapping[str, forms.Field]:
    message = _("Turn this filter on or off.")
    return {IN_STOCK: forms.RegexField("^(1|on)$", required=False, error_messages={"invalid": message})}


def _narrow_to_stock(values: filters.FilterValues) -> filters.Narrowing:
    return filters.SetNarrowing(keys.products_in_stock(), IS_FOR_SALE & Q(product__stock__gt=F("product__reserved")))
