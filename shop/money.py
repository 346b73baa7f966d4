"""Amounts of money: whole cents in the code, text only for readers."""

from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import gettext

CURRENCY_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "CNY": "¥"}


def format_money(cents: int) -> str:
    """Format an amount of cents in the active language: 1250 becomes "€12.50"."""
    sign = CURRENCY_SIGNS.get(settings.SHOP_CURRENCY, f"{settings.SHOP_CURRENCY} ")
    whole = number_format(abs(cents) // 100, use_l10n=True, force_grouping=True)
    amount = f"{whole}{_get_decimal_point()}{abs(cents) % 100:02d}"
    text = gettext("%(sign)s%(amount)s") % {"sign": sign, "amount": amount}
    return f"-{text}" if cents < 0 else text


def _get_decimal_point() -> str:
    return number_format(0.5, decimal_pos=1, use_l10n=True)[1]
