"""The buy box: what a book costs now, whether there is one, and the way into the cart."""

from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from shop.results import ProductRecord
from shop.selectors import get_product

FEW: Final = 5  # copies: so many are few


def render_buy_box(request: HttpRequest, book_id: int) -> SafeString:
    """The box of a book, whoever shows it; nothing if it is not for sale. From a warm mirror: 1 round trip."""
    return render_box(request, get_product(book_id))


def render_box(request: HttpRequest, product: ProductRecord | None) -> SafeString:
    """The box of a product that has been read already."""
    if product is None or not product["is_active"]:
        return SafeString()
    return render_to_string("shop/_buy_box.html", box_of(product), request)


def box_of(product: ProductRecord) -> dict[str, Any]:
    """What its template says. ends: when the sale is over that makes the price; most: copies that a cart may have."""
    now, left = product.now, product["available"]
    return {
        "product": product,
        "price": now,
        "ends": None if now.ends is None else datetime.fromtimestamp(now.ends, UTC),
        "left": left,
        "is_few": 0 < left <= FEW,
        "most": settings.SHOP_CART_QUANTITY,
    }
