"""Admin pages of the shop."""

from shop.admin import activity, orders, payments, products, sales  # noqa: F401  (each module registers its pages)
