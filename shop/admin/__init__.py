"""The shop in the admin."""

from shop.admin import looked, orders, payments, products, sales  # noqa: F401  (each registers its pages)
