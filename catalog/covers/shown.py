"""The cover of a book in a page."""

from collections.abc import Mapping
from typing import Any

from django.utils.safestring import SafeString

from catalog.covers.plans import read_cover_facts
from catalog.covers.svg import draw_cover
from catalog.pictures import show_uploaded_cover


def show_cover(book: Mapping[str, Any], is_large: bool = False) -> SafeString:
    """Return the uploaded cover of a book, or a drawn one.

    book: a record with at least an id and a title. is_large: as on the page of the book.
    """
    facts = read_cover_facts(book)
    return show_uploaded_cover(facts.picture, is_large) if facts.picture else draw_cover(facts)
