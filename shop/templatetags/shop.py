"""How the shop shows money and what it sells."""

from django import template
from django.utils.safestring import SafeString

from catalog import covers
from shop.money import money as money_of

register = template.Library()


@register.filter
def money(cents: int) -> str:
    """1250 -> "€12.50"."""
    return money_of(cents)


@register.simple_tag
def small_cover(book_id: int, title: str, author: str = "") -> SafeString:
    """The cover of a book of which no more than this is known."""
    return covers.cover(book_id, title, author)
