"""Shelves on the page of a book."""

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.shelves.widgets import build_button_context, build_readers_context
from common.template_functions import render_part, visitor


@pass_context
def shelf_button(context: Context, book_id: int) -> SafeString:
    """Show the visitor's shelf, rating and dates of a book."""
    reader = visitor(context)
    shown = build_button_context(context["request"], reader.pk if reader else None, book_id)
    return render_part(context, "catalog/shelves/_button.html", shown)


def book_readers(book_id: int) -> SafeString:
    """Show the number of readers who want to read a book, and the readers' ratings."""
    return render_to_string("catalog/shelves/_readers.html", build_readers_context(book_id))
