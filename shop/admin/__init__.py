"""Admin pages of the shop."""

from shop.admin import activity, delivery, orders, payments, products, related, sales  # noqa: F401  (each registers)
