"""The views of this application, one module per kind of page."""

from accounts.views import staff
from accounts.views.answers import render_refusal, render_too_often
from accounts.views.too_many import describe_wait

__all__ = [
    "describe_wait",
    "render_refusal",
    "render_too_often",
    "staff",
]
