"""The buy box of a book: its price, its stock and the button that adds it to the cart."""

from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.utils.safestring import SafeString

from common.form_parts import render_for
from shop.mirrors import ProductMirror
from shop.models import AlertKind
from shop.money import to_units
from shop.products.results import ProductRecord
from shop.selectors.stock_alerts import is_waiting

MAX_FEW_COPIES: Final = 5  # copies; at most this many count as few


def render_buy_box(request: HttpRequest, book_id: int, reader_id: int | None) -> SafeString:
    """Render the buy box of a book, or nothing if the shop never sold it. With warm mirrors it takes 1
    round trip, and one more for a reader.
    """
    return render_buy_box_of(request, ProductMirror.get(book_id), reader_id)


def render_buy_box_of(request: HttpRequest, product: ProductRecord | None, reader_id: int | None) -> SafeString:
    """Render the buy box of a product that has been read already. A withdrawn one says so. reader_id: None: not logged
    in. With a warm mirror it takes 1 round trip for a reader, unless it was read ahead.
    """
    if product is None:
        return SafeString()
    if not product["is_active"]:
        return render_for(request, "shop/_withdrawn.html", {})
    return render_for(request, "shop/_buy_box.html", list_buy_box_facts(product, reader_id))


def build_offer_data(product: ProductRecord | None) -> dict[str, str]:
    """Return the offer of a product for search engines (https://schema.org/Offer), or nothing if it is not for sale."""
    if product is None or not product["is_active"]:
        return {}
    now = product.now
    offer = {
        "@type": "Offer",
        "price": str(to_units(now.cents)),
        "priceCurrency": settings.SHOP_CURRENCY,
        "availability": "https://schema.org/InStock" if product["available"] > 0 else "https://schema.org/OutOfStock",
    }
    if now.ends is not None:
        offer["priceValidUntil"] = datetime.fromtimestamp(now.ends, UTC).isoformat()
    return offer


def list_buy_box_facts(product: ProductRecord, reader_id: int | None) -> dict[str, Hashable]:
    """Return the facts of a buy box.

    kind, waits: of the alert that the box offers, and whether the reader has it.
    ends: the end of the sale that sets the price, or None. most: the largest quantity that a cart takes.
    """
    now, left = product.now, product["available"]
    kind = AlertKind.PRICE if left > 0 else AlertKind.STOCK
    return {
        "kind": kind.value,
        "waits": reader_id is not None and is_waiting(reader_id, product["id"], kind),
        "product_id": product["id"],
        "price": now,
        "ends": None if now.ends is None else datetime.fromtimestamp(now.ends, UTC),
        "left": left,
        "is_few": 0 < left <= MAX_FEW_COPIES,
        "most": settings.SHOP_CART_QUANTITY,
    }
