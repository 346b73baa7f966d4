"""Admin pages of the shop."""

from shop.admin import (  # noqa: F401  (each registers)
    activity,
    delivery,
    orders,
    payments,
    products,
    related,
    returns,
    sales,
)
