"""Covers and portraits: the uploaded one, or one that the site draws."""

from catalog.covers.portraits import draw_portrait, show_portrait
from catalog.covers.shown import show_cover

__all__ = [
    "draw_portrait",
    "show_cover",
    "show_portrait",
]
