"""Orders in the admin: their list, and the page of an order with its actions."""

from shop.admin.orders.page import OrderAdmin

__all__ = ["OrderAdmin"]
