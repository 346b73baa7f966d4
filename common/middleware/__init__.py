"""Middleware of the whole site."""

from common.middleware.explain import EXPLAIN_PARAMETER
from common.middleware.metrics import name_view
from common.middleware.policy import allow_form_target

__all__ = [
    "EXPLAIN_PARAMETER",
    "allow_form_target",
    "name_view",
]
