"""Sections of pages: most viewed books, current sales and the visitor's last viewed books."""

from typing import Any, Final

from django import template
from django.http import HttpRequest
from django.template.context import Context

from shop.book_views import popularity, visits
from shop.selectors.sales import SaleView, get_sales
from shop.visitors import get_session_digest

register = template.Library()

MAX_BOOKS: Final = 8  # per row, on wide screens


@register.inclusion_tag("shop/_most_viewed.html")
def most_viewed() -> dict[str, Any]:
    """Show the most viewed books. They do not depend on the visitor."""
    return {"shelf": popularity.get_popular_books(MAX_BOOKS)}


@register.inclusion_tag("shop/_on_sale.html")
def on_sale() -> dict[str, Any]:
    """Show the current sale that ends first, or the next coming one. One round trip if it is the same as last time."""
    sales = get_sales()
    sale = next((each for each in sales if each.is_on), None) or min(sales, key=lambda each: each.starts, default=None)
    return {"sale": sale, "offers": sale.offers[:MAX_BOOKS] if sale else []}


@register.inclusion_tag("shop/_last_viewed.html", takes_context=True)
def last_viewed(context: Context) -> dict[str, Any]:
    """Show the visitor's last viewed books; nothing, at no cost, for visitors without a session."""
    request: HttpRequest = context["request"]
    return {"books": visits.get_last_viewed(get_session_digest(request), MAX_BOOKS)}


@register.inclusion_tag("shop/_countdown.html")
def countdown(sale: SaleView) -> dict[str, Any]:
    """Show the time until a sale ends or begins, as text that a script counts down."""
    left = sale.seconds_left
    hours, minutes = left // 3600 % 24, left // 60 % 60
    clock = f"{hours:02d}:{minutes:02d}:{left % 60:02d}"
    return {"sale": sale, "days": left // 86_400, "clock": clock, "left": left}
