"""Template tags for shelves on the page of a book."""

from typing import Any

from django import template
from django.template.context import Context

from catalog.shelves.widgets import build_button_context, build_readers_context
from common.templatetags.site import visitor

register = template.Library()


@register.inclusion_tag("catalog/shelves/_button.html", takes_context=True)
def shelf_button(context: Context, book_id: int) -> dict[str, Any]:
    """Show the visitor's shelf, rating and dates of a book."""
    reader = visitor(context)
    return build_button_context(context["request"], reader.pk if reader else None, book_id)


@register.inclusion_tag("catalog/shelves/_readers.html")
def book_readers(book_id: int) -> dict[str, Any]:
    """Show the number of readers who want to read a book, and the readers' ratings."""
    return build_readers_context(book_id)
