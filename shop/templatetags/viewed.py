"""What is looked at most, what is on sale, and what a visitor saw last: sections of pages."""

from typing import Any, Final

from django import template
from django.http import HttpRequest
from django.template.context import Context

from shop.sales import SaleShown, sales_shown
from shop.viewing import popularity, visits
from shop.visitors import digest_of

register = template.Library()

BOOKS: Final = 8  # a row, where there is room


@register.inclusion_tag("shop/_most_viewed.html")
def most_viewed() -> dict[str, Any]:
    """The books that are looked at most. One round trip, as long as they are the same; nothing of the visitor's."""
    return {"shelf": popularity.shelf(BOOKS)}


@register.inclusion_tag("shop/_on_sale.html")
def on_sale() -> dict[str, Any]:
    """The sale that ends first, or the first to come. One round trip, as long as it is the same."""
    sales = sales_shown()
    sale = next((each for each in sales if each.is_on), None) or min(sales, key=lambda each: each.starts, default=None)
    return {"sale": sale, "offers": sale.offers[:BOOKS] if sale else []}


@register.inclusion_tag("shop/_last_viewed.html", takes_context=True)
def last_viewed(context: Context) -> dict[str, Any]:
    """What this visitor saw last; nothing, and at no cost, for who has no session."""
    request: HttpRequest = context["request"]
    return {"books": visits.last_viewed(digest_of(request), BOOKS)}


@register.inclusion_tag("shop/_countdown.html")
def countdown(sale: SaleShown) -> dict[str, Any]:
    """How long a sale still lasts, or is off: as text, which a script counts down."""
    left = sale.seconds_left
    hours, minutes = left // 3600 % 24, left // 60 % 60
    clock = f"{hours:02d}:{minutes:02d}:{left % 60:02d}"
    return {"sale": sale, "days": left // 86_400, "clock": clock, "left": left}
