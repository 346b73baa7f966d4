"""Portraits: an uploaded picture, or a drawn one with an initial on a cloth."""

from collections.abc import Mapping
from typing import Any, Final

import regex
from django.utils.html import format_html
from django.utils.safestring import SafeString

from catalog.covers.designs import CLOTH_COUNT
from catalog.pictures import SHOWN_PHOTO, show_photo

_DRAWN: Final = (
    '<svg class="avatar cloth-{}" width="{}" height="{}" viewBox="0 0 40 40" aria-hidden="true">'
    '<circle class="cloth" cx="20" cy="20" r="20"/><text x="20" y="27" font-size="20" text-anchor="middle">{}</text>'
    "</svg>"
)


def draw_portrait(number: int, name: str, size: int) -> SafeString:
    """Return the initial of a name in a circle. number: chooses its colour. size: in pixels."""
    initial = regex.match(r"\X", name)  # a letter with all its marks
    return format_html(_DRAWN, number % CLOTH_COUNT, size, size, initial[0].upper() if initial else "")


def show_portrait(author: Mapping[str, Any]) -> SafeString:
    """Return the photo of an author, or a drawn portrait. author: a record with an id, a name and a photo."""
    return show_photo(author["photo"]) if author["photo"] else draw_portrait(author["id"], author["name"], SHOWN_PHOTO)
