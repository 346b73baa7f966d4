"""Validate text that is typed by visitors and repeated in emails: it must not contain links or control characters."""

from typing import Final

import regex
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

# Mail programs turn host names into links. A host without a scheme is recognized by a short or common last label.
_LAST_LABELS: Final = (
    "app|blog|click|cloud|club|email|guru|help|info|life|link|live|mobi|name|news|online|page|shop|site|space|store|"
    "support|tech|today|website|work|world|zone"
)
_link_pattern = regex.compile(
    rf"://|\bwww\.|@|\b\d{{1,3}}(?:\.\d{{1,3}}){{3}}\b|[\p{{L}}\p{{N}}]\.(?:\p{{L}}{{2,3}}|{_LAST_LABELS})(?![\p{{L}}\p{{N}}])",
    regex.IGNORECASE,
)
# Joiners occur in words of several scripts, and line breaks in postal addresses.
_control_pattern = regex.compile(r"[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200C\u200D\t\r\n]]", regex.V1)


def has_link(text: str) -> bool:
    """Return whether a mail program may turn a part of this text into a link."""
    return _link_pattern.search(text) is not None


def check_words(text: str) -> None:
    """Validate a visitor's text for emails. Raises ValidationError for links and control characters."""
    if has_link(text):
        raise ValidationError(_("Leave out web and email addresses, and put a space after a full stop."), code="link")
    if _control_pattern.search(text):
        raise ValidationError(_("Leave out control characters."), code="control")


def check_line(text: str) -> None:
    """Validate one line as ``check_words`` does. Raises ValidationError."""
    check_words("\0".join(text.splitlines()))
