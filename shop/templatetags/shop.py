"""Template helpers for prices and covers."""

from django import template
from django.utils.safestring import SafeString

from catalog.books import covers
from shop.money import format_money

register = template.Library()


@register.filter
def money(cents: int) -> str:
    """Format an amount of cents: 1250 becomes "€12.50"."""
    return format_money(cents)


@register.simple_tag
def small_cover(book_id: int, title: str, author: str = "") -> SafeString:
    """Render the cover of a book from its title and first author."""
    return covers.draw_cover(book_id, title, author)
