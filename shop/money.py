"""Amounts of money: whole numbers of the currency's smallest unit ("cents") in the code, text only for people."""

from decimal import Decimal
from functools import cache

from babel.numbers import get_currency_precision
from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import gettext

CURRENCY_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "CNY": "¥", "JPY": "¥"}


def get_decimals() -> int:
    """Return the decimals of the currency, by ISO 4217: 2 for the euro, 0 for the yen, 3 for the dinar."""
    return _get_decimals_of(settings.SHOP_CURRENCY)


@cache
def _get_decimals_of(currency: str) -> int:
    return int(get_currency_precision(currency))


def to_units(cents: int) -> Decimal:
    """Return an amount in the currency's unit: 1250 cents are 12.50 euros."""
    return Decimal(cents).scaleb(-get_decimals())


def to_cents(units: Decimal) -> int:
    """Return an amount in the currency's smallest unit."""
    return int(units.scaleb(get_decimals()))


def get_currency_sign() -> str:
    """Return the sign of the shop's currency, or its code if it has none."""
    return CURRENCY_SIGNS.get(settings.SHOP_CURRENCY, settings.SHOP_CURRENCY)


def format_money(cents: int) -> str:
    """Format an amount of cents in the active language: 1250 becomes "€12.50", or "¥1,250" for the yen."""
    return format_money_of(cents, settings.SHOP_CURRENCY)


def format_money_of(cents: int, currency: str) -> str:
    """Format an amount of a currency, such as that of an old invoice."""
    decimals = _get_decimals_of(currency)
    whole_number, fraction = divmod(abs(cents), 10**decimals)
    sign = CURRENCY_SIGNS.get(currency, f"{currency} ")
    amount = number_format(whole_number, use_l10n=True, force_grouping=True)
    if decimals:
        amount += f"{_get_decimal_point()}{fraction:0{decimals}d}"
    text = gettext("%(sign)s%(amount)s") % {"sign": sign, "amount": amount}
    return f"-{text}" if cents < 0 else text


def _get_decimal_point() -> str:
    return number_format(0.5, decimal_pos=1, use_l10n=True)[1]
