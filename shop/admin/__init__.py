"""The shop in the admin."""

from shop.admin import looked, orders, products, sales  # noqa: F401  (each registers its pages)
