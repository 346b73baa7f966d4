"""How books are shown."""

from collections.abc import Sequence

from django import template
from django.utils.safestring import SafeString

from catalog import covers

register = template.Library()


@register.simple_tag
def cover(book_id: int, title: str, authors: Sequence[str]) -> SafeString:
    """The cover of a book, with its first author."""
    return covers.cover(int(book_id), title, authors[0] if authors else "")
