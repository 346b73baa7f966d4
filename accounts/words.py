"""Words that strangers type and that letters repeat: neither a link nor a control character may be among them."""

from typing import Final

import regex
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

# Mail programs make links of these, also where they are only a name. Hosts without a scheme are known by a last part
# that is short or common.
_LAST: Final = (
    "app|blog|click|cloud|club|email|guru|help|info|life|link|live|mobi|name|news|online|page|shop|site|space|store|"
    "support|tech|today|website|work|world|zone"
)
_link = regex.compile(
    rf"://|\bwww\.|@|\b\d{{1,3}}(?:\.\d{{1,3}}){{3}}\b|[\p{{L}}\p{{N}}]\.(?:\p{{L}}{{2,3}}|{_LAST})(?![\p{{L}}\p{{N}}])",
    regex.IGNORECASE,
)
# Joiners belong to words of several scripts, and line ends to postal addresses.
_control = regex.compile(r"[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200C\u200D\t\r\n]]", regex.V1)


def has_link(text: str) -> bool:
    """Return whether a mail program may make a link of a part of this text."""
    return _link.search(text) is not None


def check_words(text: str) -> None:
    """Validate what strangers type into letters. Raises ValidationError for links and control characters."""
    if has_link(text):
        raise ValidationError(_("Leave out web and e-mail addresses, and put a blank after a full stop."), code="link")
    if _control.search(text):
        raise ValidationError(_("Leave out control characters."), code="control")


def check_line(text: str) -> None:
    """Validate one line as ``check_words`` does. Raises ValidationError."""
    check_words("\0".join(text.splitlines()))
