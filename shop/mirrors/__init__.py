"""Mirrors of the shop. All are imported here, because mirrors must be registered when Django starts."""

from shop.mirrors import notifications
from shop.mirrors.alerts import StockAlertMirror
from shop.mirrors.carts import CartMirror
from shop.mirrors.products import ProductMirror
from shop.mirrors.recommendations import RecommendationMirror
from shop.mirrors.sales import SaleMirror

__all__ = ["CartMirror", "ProductMirror", "RecommendationMirror", "SaleMirror", "StockAlertMirror", "notifications"]
