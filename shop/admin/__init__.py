"""Admin pages of the shop."""

from shop.admin import looked, orders, payments, products, sales  # noqa: F401  (each module registers its pages)
