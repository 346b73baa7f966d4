"""The text of a post: what may be posted, and how it is shown."""

from collections.abc import Iterable

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe


def to_html(text: str, mentions: Iterable[str] = ()) -> SafeString:
    """``text`` as HTML."""
    return mark_safe(escape(text).replace("\n", "<br>"))
