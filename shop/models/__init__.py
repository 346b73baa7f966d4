"""Products, carts, orders, payments and views. All money is in cents of ``settings.SHOP_CURRENCY``."""

from shop.models.address import SavedAddress, SavedAddressQuerySet
from shop.models.cart import Cart
from shop.models.delivery import DeliveryMethod, DeliveryMethodQuerySet, DeliveryPrice, DeliveryZone
from shop.models.event import EventKind, OrderEvent
from shop.models.fake_charge import FakeCharge, FakeRefund
from shop.models.order import Order, OrderLine, OrderQuerySet, OrderState
from shop.models.payment import Payment, PaymentQuerySet, PaymentState, PaymentStatus
from shop.models.product import Product, ProductQuerySet, VatClass
from shop.models.recommendation import Recommendation
from shop.models.refund import Refund, RefundLine, RefundState
from shop.models.returned import Return, ReturnLine, ReturnReason, ReturnState
from shop.models.sale import Sale, SaleItem, SaleQuerySet
from shop.models.stock_alert import AlertKind, StockAlert
from shop.models.view import View

__all__ = [
    "AlertKind",
    "Cart",
    "DeliveryMethod",
    "DeliveryMethodQuerySet",
    "DeliveryPrice",
    "DeliveryZone",
    "EventKind",
    "FakeCharge",
    "FakeRefund",
    "Order",
    "OrderEvent",
    "OrderLine",
    "OrderQuerySet",
    "OrderState",
    "Payment",
    "PaymentQuerySet",
    "PaymentState",
    "PaymentStatus",
    "Product",
    "ProductQuerySet",
    "Recommendation",
    "Refund",
    "RefundLine",
    "RefundState",
    "Return",
    "ReturnLine",
    "ReturnReason",
    "ReturnState",
    "Sale",
    "SaleItem",
    "SaleQuerySet",
    "SavedAddress",
    "SavedAddressQuerySet",
    "StockAlert",
    "VatClass",
    "View",
]
