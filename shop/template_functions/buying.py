"""The buy box on the page of a book."""

from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.covers import show_cover
from common.template_functions import visitor
from shop.catalog_hooks.buy_box import render_buy_box, render_buy_box_of
from shop.models import OrderLine


@pass_context
def buy_box(context: Context, book_id: int) -> SafeString:
    """Render the buy box of a book. On its own page, the product was read with the book."""
    book, extras = context.get("book"), context.get("extras")
    reader = visitor(context)
    reader_id = reader.pk if reader else None
    if extras is not None and book is not None and book["id"] == book_id:
        return render_buy_box_of(context["request"], extras["product"], reader_id)
    return render_buy_box(context["request"], book_id, reader_id)


def cover_of_line(line: OrderLine) -> SafeString:
    """Return the cover of an ordered book, with the title that it had then."""
    book = line.product.book
    return show_cover({"id": book.pk, "title": line.title, "cover": book.cover, "design": book.design})
