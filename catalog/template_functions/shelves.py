"""Shelves on the page of a book."""

import math

from django.utils.safestring import SafeString
from django.utils.translation import ngettext
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.books.records import BookRecord
from catalog.shelves import widgets
from catalog.shelves.models import Shelf
from catalog.shelves.records import write_stars
from common.template_functions import visitor


def star_label(halves: int) -> str:
    """Return a rating as text: "3.5 stars"."""
    return ngettext("%(n)s star", "%(n)s stars", math.ceil(halves / 2)) % {"n": write_stars(halves)}


def shelf_label(shelf: str) -> str:
    """Return the name of a shelf as pages show it."""
    return str(Shelf(shelf).label)


@pass_context
def shelf_button(context: Context, book: BookRecord) -> SafeString:
    """Show the visitor's shelf, rating, dates and progress of a book."""
    reader = visitor(context)
    return widgets.render_button(context["request"], reader.pk if reader else None, book["id"], book["pages"])


@pass_context
def book_readers(context: Context, book_id: int) -> SafeString:
    """Show the number of readers who want to read a book, and the readers' ratings."""
    return widgets.render_readers(context["request"], book_id)
