"""Shelves on the page of a book."""

from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.shelves import widgets
from common.template_functions import visitor


@pass_context
def shelf_button(context: Context, book_id: int) -> SafeString:
    """Show the visitor's shelf, rating and dates of a book."""
    reader = visitor(context)
    return widgets.render_button(context["request"], reader.pk if reader else None, book_id)


@pass_context
def book_readers(context: Context, book_id: int) -> SafeString:
    """Show the number of readers who want to read a book, and the readers' ratings."""
    return widgets.render_readers(context["request"], book_id)
