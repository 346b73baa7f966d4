"""Middleware of the whole site."""

from common.middleware.explain import EXPLAIN_PARAMETER

__all__ = [
    "EXPLAIN_PARAMETER",
]
