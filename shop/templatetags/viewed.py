"""Sections of pages: most viewed books, current sales and the visitor's last viewed books."""

from collections.abc import Sequence
from typing import Any, Final

from django import template
from django.http import HttpRequest
from django.template.context import Context
from django.utils.safestring import SafeString

from catalog.listing import BookRecord
from catalog.shelves.widgets import render_strip_shelves
from shop.book_views import popularity, visits
from shop.selectors.sales import SaleView, get_sales
from shop.visitors import get_session_digest

register = template.Library()

MAX_BOOKS: Final = 8  # per row, on wide screens


@register.inclusion_tag("shop/_most_viewed.html", takes_context=True)
def most_viewed(context: Context) -> dict[str, Any]:
    """Show the most viewed books. Two round trips, unless the page foresees them; one for shelves."""
    popular = popularity.get_popular_books(MAX_BOOKS)
    return {"is_viewed": popular.is_viewed, "books": _pair_with_shelves(context, popular.books)}


@register.inclusion_tag("shop/_on_sale.html", takes_context=True)
def on_sale(context: Context) -> dict[str, Any]:
    """Show the current sale that ends first, or the next coming one. One round trip if it is the same as last time, and
    one for the visitor's shelves.
    """
    sales = get_sales()
    sale = next((each for each in sales if each.is_on), None) or min(sales, key=lambda each: each.starts, default=None)
    offers = sale.offers[:MAX_BOOKS] if sale else []
    shelves = render_strip_shelves(context["request"], [(offer.id, offer.title) for offer in offers])
    return {"sale": sale, "offers": list(zip(offers, shelves, strict=True))}


@register.inclusion_tag("shop/_last_viewed.html", takes_context=True)
def last_viewed(context: Context) -> dict[str, Any]:
    """Show the visitor's last viewed books; nothing, at no cost, for visitors without a session."""
    request: HttpRequest = context["request"]
    books = visits.get_last_viewed(get_session_digest(request), MAX_BOOKS)
    return {"books": _pair_with_shelves(context, books)}


def _pair_with_shelves(context: Context, books: Sequence[BookRecord]) -> list[tuple[BookRecord, SafeString]]:
    """Return each book with its shelf button."""
    shelves = render_strip_shelves(context["request"], [(book["id"], book["title"]) for book in books])
    return list(zip(books, shelves, strict=True))


@register.inclusion_tag("shop/_countdown.html")
def countdown(sale: SaleView) -> dict[str, Any]:
    """Show the time until a sale ends or begins, as text that a script counts down."""
    left = sale.seconds_left
    hours, minutes = left // 3600 % 24, left // 60 % 60
    clock = f"{hours:02d}:{minutes:02d}:{left % 60:02d}"
    return {"sale": sale, "days": left // 86_400, "clock": clock, "left": left}
