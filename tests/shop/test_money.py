"""Amounts of money in currencies with two, no and three decimals."""

from decimal import Decimal

import pytest
from django.utils.translation import override
from pytest_django.fixtures import Settings

from shop.admin.forms import MoneyField
from shop.money import format_money, get_decimals, to_cents, to_units

CURRENCIES = [
    ("EUR", 2, 159900, "€1,599.00", "1599.00"),
    ("GBP", 2, 5, "£0.05", "0.05"),
    ("JPY", 0, 1599, "¥1,599", "1599"),
    ("KRW", 0, 15000, "KRW 15,000", "15000"),
    ("KWD", 3, 15990, "KWD 15.990", "15.990"),
    ("BHD", 3, 7, "BHD 0.007", "0.007"),
]


@pytest.mark.parametrize(("currency", "decimals", "cents", "shown", "typed"), CURRENCIES)
def test_amounts_have_the_decimals_of_their_currency(
    settings: Settings, currency: str, decimals: int, cents: int, shown: str, typed: str
) -> None:
    settings.SHOP_CURRENCY = currency
    assert get_decimals() == decimals
    assert format_money(cents) == shown
    assert format_money(-cents) == f"-{shown}"
    assert to_cents(to_units(cents)) == cents
    field = MoneyField()
    assert field.prepare_value(cents) == typed
    assert field.clean(typed) == cents
    assert Decimal(field.widget.attrs["step"]) == Decimal(1).scaleb(-decimals)


def test_the_language_decides_about_the_decimal_point(settings: Settings) -> None:
    settings.SHOP_CURRENCY = "EUR"
    with override("zh-hans"):
        assert format_money(1250) == "€12.50"
