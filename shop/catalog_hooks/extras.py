"""Prices, stock and recommendations on book pages, in their JSON and on book cards."""

from collections.abc import Sequence
from typing import Any, Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from catalog.books import extras
from catalog.listing import BookList
from common.rendered import remember_rendered
from mirror.read import read_from_sql
from shop import keys
from shop.mirrors import ProductMirror
from shop.products.prices import Price
from shop.products.rendered import render_price
from shop.products.results import ProductRecord
from shop.recommend import page

MAX_BYTES: Final = 10_000  # of a remembered text


def register() -> None:
    """Register the shop's extras with the catalogue."""
    extras.page_extras.register(
        extras.Extra(
            name="product",
            mirrors=("product",),
            add_commands=lambda pipe, pk: pipe.get(keys.product(pk)),
            parse_replies=lambda pk, raw: None if raw is None else ProductRecord(raw),
            read_from_sql=lambda pk: _load_products([pk])[0],
            fields=describe_price_and_stock,
        )
    )
    page.register_extra()
    extras.card_extras.register(
        extras.CardExtra(
            name="product",
            add_commands=lambda pipe, ids: pipe.mget([keys.product(pk) for pk in ids]),
            parse_replies=lambda raws: [None if raw is None else ProductRecord(raw) for raw in raws],
            read_from_sql=_load_products,
            render=render_card_price,
        )
    )


def _load_products(ids: Sequence[int]) -> list[ProductRecord | None]:
    with read_from_sql():
        found = ProductMirror.get_many(ids)
    return [found.get(pk) for pk in ids]


def describe_price_and_stock(product: ProductRecord | None) -> dict[str, Any]:
    """Return the JSON fields of a product.

    price: in cents, None if it is not for sale. was: the usual price if it is higher, else None. stock: copies left.
    """
    if product is None or not product["is_active"]:
        return {"price": None, "was": None, "stock": 0}
    now = product.now
    return {"price": now.cents, "was": now.was, "stock": product["available"]}


def get_card_products(found: BookList) -> dict[int, ProductRecord]:
    """Return the products that were read with a list of books, by id."""
    if not found.books:
        return {}
    values = found.card_values[list(extras.card_extras.registered).index("product")]
    return {book["id"]: product for book, product in zip(found.books, values, strict=True) if product}


def render_card_price(product: ProductRecord | None) -> SafeString:
    """Render the price on a book's card, or nothing if the book is not for sale."""
    if product is None or not product["is_active"]:
        return SafeString()
    fields = product.fields
    # Most products are in no sale, and a page has many cards.
    now = product.now if fields["sales"] else Price(fields["price"])
    line = render_price(now.cents, now.was)
    return line if fields["available"] > 0 else line + _render_sold_out()


@remember_rendered(MAX_BYTES)
def _render_sold_out() -> SafeString:
    return format_html('<p class="stock none">{}</p>', gettext("Sold out"))
