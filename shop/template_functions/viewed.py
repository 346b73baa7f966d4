"""Sections of pages: most viewed books, current sales and the visitor's last viewed books."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.books import BookRows
from catalog.listing import BookRecord
from catalog.selectors import find_books
from catalog.shelves.widgets import render_card_shelf
from common.paths import make_path
from common.public_pages import limit_life
from common.rendered import remember_rendered
from common.template_functions import render_part
from common.web import get_viewer_id
from shop.catalog_hooks.extras import get_card_products, render_card_price
from shop.products.results import ProductRecord
from shop.selectors.sales import SaleView
from shop.selectors.strips import MAX_BOOKS, Strips, find_shelved

MAX_BYTES: Final = 8_000_000  # of remembered cards; each takes about 2 kB
MAX_OFFERS: Final = 6  # of the current sale, whose covers are larger
MAX_IN_COLUMN: Final = 3
DAY: Final = 86_400  # seconds


@pass_context
def most_viewed(context: Context) -> SafeString:
    """Show the most viewed books of ``strips``."""
    strips: Strips = context["strips"]
    popular = strips.popular
    # The list of all is that of the most read ones.
    title, sort = (gettext("Most viewed"), "") if popular.is_viewed else (gettext("Most read"), "popular")
    return _render_strip(context, "most-viewed", title, sort, popular.books, popular.products, strips.shelved)


@pass_context
def new_books(context: Context) -> SafeString:
    """Show the books of the latest years. At most two round trips, and one for shelves."""
    found = find_books(sort="newest", is_brief=True)
    products = get_card_products(found)
    shelved = find_shelved(get_viewer_id(context["request"]), [book["id"] for book in found.books])
    return _render_strip(context, "new-books", gettext("New books"), "newest", found.books, products, shelved)


@pass_context
def on_sale(context: Context) -> SafeString:
    """Show the sale of ``strips``."""
    strips: Strips = context["strips"]
    sale = strips.sale
    offers = _get_rows(context).fill(sale.offers if sale else [], MAX_OFFERS, lambda offer: offer.id)
    shelves = _render_shelves(context, [(offer.id, offer.title) for offer in offers], strips.shelved)
    shown = {"sale": sale, "offers": list(zip(offers, shelves, strict=True))}
    return render_part(context, "shop/_on_sale.html", shown)


@pass_context
def last_viewed(context: Context, is_column: bool = False) -> SafeString:
    """Show the visitor's last viewed books of ``strips``.

    is_column: show a few, one below the other, instead of a row.
    """
    strips: Strips = context["strips"]
    if is_column:
        shown = _get_rows(context).fill(strips.viewed, MAX_IN_COLUMN, lambda book: book["id"], least=1)
        return render_part(context, "shop/_last_viewed.html", {"books": shown})
    return _render_strip(context, "last-viewed", gettext("Recently viewed"), "", strips.viewed, {}, strips.shelved)


@pass_context
def popular_books(context: Context) -> SafeString:
    """Show the most read books, below an empty cart. One round trip."""
    found = find_books(is_brief=True)
    products = get_card_products(found)
    books = [(book, render_card_price(products.get(book["id"]))) for book in found.books[:MAX_BOOKS]]
    return render_part(context, "shop/_popular.html", {"books": books})


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
    shelved: Mapping[int, Mapping[str, Any]],
) -> SafeString:
    """Show a row of books that stand in no row above, with the prices of those in ``products``, the visitor's shelves,
    and a link to all in the order ``sort``, if any.
    """
    books = _get_rows(context).fill(books, MAX_BOOKS, lambda book: book["id"])
    prices = [render_card_price(products.get(book["id"])) for book in books]
    shelves = _render_shelves(context, [(book["id"], book["title"]) for book in books], shelved)
    shown = {
        "id": key,
        "title": title,
        "address": f"{make_path('catalog:list')}?sort={sort}" if sort else "",
        "books": list(zip(books, prices, shelves, strict=True)),
    }
    return render_part(context, "shop/_strip.html", shown)


def _render_shelves(
    context: Context, books: Sequence[tuple[int, str]], shelved: Mapping[int, Mapping[str, Any]]
) -> list[SafeString]:
    """Render the shelf button of each of these books (id, title); empty without a logged-in visitor."""
    if get_viewer_id(context["request"]) is None:
        return [SafeString()] * len(books)
    return [render_card_shelf(pk, title, shelved.get(pk), is_anchor=False) for pk, title in books]


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
