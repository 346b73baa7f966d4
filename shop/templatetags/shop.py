"""How the shop shows money."""

from django import template

from shop.money import money as money_of

register = template.Library()


@register.filter
def money(cents: int) -> str:
    """1250 -> "€12.50"."""
    return money_of(cents)
