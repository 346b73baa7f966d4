"""What the shop says on the page of a book, and in its JSON."""

from typing import Any

from catalog import extras
from shop import keys
from shop.recommend import page
from shop.results import ProductRecord
from shop.selectors import products_by_sql


def register() -> None:
    """Have the catalogue say it."""
    extras.register(
        extras.Extra(
            name="product",
            mirrors=("product",),
            ask=lambda pipe, pk: pipe.get(keys.product(pk)),
            found=lambda pk, raw: None if raw is None else ProductRecord(raw),
            by_sql=lambda pk: products_by_sql([pk]).get(pk),
            fields=price_and_stock,
        )
    )
    page.register()


def price_and_stock(product: ProductRecord | None) -> dict[str, Any]:
    """price: in cents (None: not for sale); was: its usual price, if that is higher; stock: copies left."""
    if product is None or not product["is_active"]:
        return {"price": None, "was": None, "stock": 0}
    now = product.now
    return {"price": now.cents, "was": now.was, "stock": product["available"]}
