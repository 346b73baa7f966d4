"""The places of spoilers in the beginnings of reviews, from which they are left out."""

from typing import Final

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

OMISSION: Final = "[…]"  # in stored texts, so it has no language


def name_omissions(text: str) -> str:
    """Return the beginning of a review with words in the place of each spoiler, for pages and mails without marks."""
    return text.replace(OMISSION, _get_words())


def mark_omissions(html: SafeString) -> SafeString:
    """Return the beginning of a review with a chip in the place of each spoiler."""
    return mark_safe(html.replace(OMISSION, _make_chip()))


def mark_named_omissions(text: str) -> SafeString:
    """Return a text as HTML, with a chip in the place of the words of ``name_omissions``."""
    return mark_safe(escape(text).replace(escape(_get_words()), _make_chip()))


def _get_words() -> str:
    return f"[{gettext('Spoiler hidden')}]"


def _make_chip() -> SafeString:
    return format_html('<span class="badge">{}</span>', gettext("Spoiler hidden"))
