"""Mirrors of the shop."""

from shop.mirrors.products import ProductMirror
from shop.mirrors.recommendations import RecommendationMirror
from shop.mirrors.sales import SaleMirror

__all__ = ["ProductMirror", "RecommendationMirror", "SaleMirror"]
