"""Middleware of the whole site."""

from common.middleware.explain import EXPLAIN_PARAMETER
from common.middleware.metrics import name_view

__all__ = [
    "EXPLAIN_PARAMETER",
    "name_view",
]
