"""Sections of pages: most viewed books, current sales and the visitor's last viewed books."""

from collections.abc import Mapping, Sequence
from typing import Final

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.books import BookRows
from catalog.listing import BookRecord
from catalog.selectors import find_books
from catalog.shelves.widgets import render_strip_shelves
from common.paths import make_path
from common.public_pages import limit_life
from common.rendered import remember_rendered
from common.template_functions import render_part
from shop.book_views import popularity, visits
from shop.catalog_hooks.extras import get_card_products, render_card_price
from shop.products.results import ProductRecord
from shop.selectors.sales import SaleView, get_sales
from shop.visitors import get_session_digest

MAX_BYTES: Final = 8_000_000  # of remembered cards; each takes about 2 kB
MAX_BOOKS: Final = 8  # per row, on wide screens
MAX_OFFERS: Final = 6  # of the current sale, whose covers are larger
MAX_IN_COLUMN: Final = 3
MAX_READ: Final = 2 * MAX_BOOKS  # per row: some stand in rows above
DAY: Final = 86_400  # seconds


@pass_context
def most_viewed(context: Context) -> SafeString:
    """Show the most viewed books. Two round trips, unless they were read ahead; one for shelves."""
    popular = popularity.get_popular_books(MAX_READ)
    # The list of all is that of the most read ones.
    title, sort = (gettext("Most viewed"), "") if popular.is_viewed else (gettext("Most read"), "popular")
    return _render_strip(context, "most-viewed", title, sort, popular.books, popular.products)


@pass_context
def new_books(context: Context) -> SafeString:
    """Show the books of the latest years. At most two round trips, and one for shelves."""
    found = find_books(sort="newest")
    return _render_strip(context, "new-books", gettext("New books"), "newest", found.books, get_card_products(found))


@pass_context
def on_sale(context: Context, sales: Sequence[SaleView] | None = None) -> SafeString:
    """Show the current sale that ends first, or the next coming one. One round trip if it is the same as last time and
    no sales are given, and one for the visitor's shelves.
    """
    if sales is None:
        sales = get_sales()
    sale = next((each for each in sales if each.is_on), None) or min(sales, key=lambda each: each.starts, default=None)
    offers = _get_rows(context).fill(sale.offers if sale else [], MAX_OFFERS, lambda offer: offer.id)
    shelves = render_strip_shelves(context["request"], [(offer.id, offer.title) for offer in offers])
    shown = {"sale": sale, "offers": list(zip(offers, shelves, strict=True))}
    return render_part(context, "shop/_on_sale.html", shown)


@pass_context
def last_viewed(context: Context, is_column: bool = False) -> SafeString:
    """Show the visitor's last viewed books; nothing, at no cost, for visitors without a session.

    is_column: show a few, one below the other, instead of a row.
    """
    request: HttpRequest = context["request"]
    books = visits.get_last_viewed(get_session_digest(request), MAX_READ)
    if is_column:
        shown = _get_rows(context).fill(books, MAX_IN_COLUMN, lambda book: book["id"], least=1)
        return render_part(context, "shop/_last_viewed.html", {"books": shown})
    return _render_strip(context, "last-viewed", gettext("Recently viewed"), "", books, {})


@pass_context
def popular_books(context: Context) -> SafeString:
    """Show the most read books, below an empty cart. One round trip."""
    return render_part(context, "shop/_popular.html", {"books": find_books().books[:MAX_BOOKS]})


@remember_rendered(MAX_BYTES)
def render_strip_book(raw: bytes) -> SafeString:
    """Return the card of a book in a strip, from its record, without the button and the end tag that follow it."""
    return render_to_string("shop/_strip_book.html", {"book": BookRecord(raw)})


def _render_strip(
    context: Context,
    key: str,
    title: str,
    sort: str,
    books: Sequence[BookRecord],
    products: Mapping[int, ProductRecord],
) -> SafeString:
    """Show a row of books that stand in no row above, with the prices of those in ``products``, and a link to all in
    the order ``sort``, if any.
    """
    books = _get_rows(context).fill(books, MAX_BOOKS, lambda book: book["id"])
    prices = [render_card_price(products.get(book["id"])) for book in books]
    shelves = render_strip_shelves(context["request"], [(book["id"], book["title"]) for book in books])
    shown = {
        "id": key,
        "title": title,
        "address": f"{make_path('catalog:list')}?sort={sort}" if sort else "",
        "books": list(zip(books, prices, shelves, strict=True)),
    }
    return render_part(context, "shop/_strip.html", shown)


def _get_rows(context: Context) -> BookRows:
    rows: BookRows = context["rows"]
    return rows


def countdown(sale: SaleView) -> SafeString:
    """Show the days until a sale ends or begins, and on its last day the time, as text that a script counts down."""
    left = sale.seconds_left
    # Until it shows another number of days, or another second
    limit_life(left % DAY + 1.0 if left >= DAY else 1.0)
    hours, minutes = left // 3600 % 24, left // 60 % 60
    clock = f"{hours:02d}:{minutes:02d}:{left % 60:02d}"
    shown = {"sale": sale, "days": left // DAY, "clock": clock, "left": left}
    return render_to_string("shop/_countdown.html", shown)
