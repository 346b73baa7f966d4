"""A shop with a history for ``make demo``: prices, customers with views, orders and returns, and a sale."""

from demo.shop.history import load_demo_shop
from demo.shop.items import find_items
from demo.shop.renewed import ensure_sale, record_recent_views

__all__ = [
    "ensure_sale",
    "find_items",
    "load_demo_shop",
    "record_recent_views",
]
