"""Admin pages of the shop."""

from shop.admin import activity, delivery, orders, payments, products, returns, sales  # noqa: F401  (each module registers its pages)
