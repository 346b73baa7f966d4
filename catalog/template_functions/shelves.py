"""Shelves on the page of a book."""

import math
from typing import Final

from django.template.defaultfilters import floatformat
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.books.records import BookRecord
from catalog.books.series import split_title
from catalog.readings.progress import ShownProgress
from catalog.shelves import widgets
from catalog.shelves.models import Shelf
from catalog.shelves.records import write_stars
from catalog.shelves.selectors import ShelvedBook
from common.rendered import remember_rendered
from common.template_functions import get_static_url, icon, visitor

MAX_BYTES: Final = 4_000_000  # of remembered parts; each takes about 500 bytes


def star_label(halves: int) -> str:
    """Return a rating as text: "3.5 stars"."""
    return ngettext("%(n)s star", "%(n)s stars", math.ceil(halves / 2)) % {"n": write_stars(halves)}


@remember_rendered(MAX_BYTES)
def show_stars(halves: int) -> SafeString:
    """Return a rating as five stars, of which so many halves are filled."""
    drawn = (
        '<span class="stars" title="{label}"><svg viewBox="0 0 120 24" aria-hidden="true">'
        '{use}/><svg width="{width}" height="24">{use} class="filled"/></svg></svg>'
        '<span class="sr-only">{label}</span></span>'
    )
    use = format_html('<use width="120" height="24" href="{}#stars"', get_static_url("icons.svg"))
    return format_html(drawn, label=star_label(halves), use=use, width=12 * halves)


@remember_rendered(MAX_BYTES)
def mean_stars(mean: float) -> SafeString:
    """Return the mean rating of many readers as a star and a number."""
    line = '<span class="stars">{}<span class="sr-only">{}</span> {}</span>'
    return format_html(line, icon("star"), gettext("Rating:"), floatformat(mean, 2))


def shelf_label(shelf: str) -> str:
    """Return the name of a shelf as pages show it."""
    return str(Shelf(shelf).label)


@pass_context
def own_parts(context: Context, book: BookRecord) -> widgets.OwnParts:
    """Return the parts that show the visitor's shelf, rating, dates and progress of a book."""
    reader = visitor(context)
    return widgets.render_own_parts(context["request"], reader.pk if reader else None, book["id"], book["pages"])


@pass_context
def book_readers(context: Context, book_id: int) -> widgets.ReadersParts:
    """Return the parts that show the readers' ratings of a book, and how many want to read it."""
    return widgets.render_readers(context["request"], book_id)


def reading_progress(entry: ShelvedBook) -> SafeString:
    """Show how far the reader has come in a book, with a link to the form, below the card of the book."""
    progress = entry.progress
    if progress is not None:
        # Without the reader's own words, so that readers at the same page share the remembered part.
        progress = progress._replace(note="")
    return _render_progress(entry.book["id"], split_title(entry.book["title"])[0], progress)


@remember_rendered(MAX_BYTES)
def _render_progress(book_id: int, title: str, progress: ShownProgress | None) -> SafeString:
    context = {"book_id": book_id, "title": title, "progress": progress}
    return render_to_string("catalog/shelves/_reading.html", context)


def shelf_choice(book: BookRecord) -> SafeString:
    """Show the shelf button of a book that is on none of the visitor's shelves, below the card of the book."""
    return widgets.render_card_shelf(book["id"], book["title"], None, is_anchor=False)
