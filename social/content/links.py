"""Links in a post's text. Each link is parsed, checked and rebuilt, so that its text cannot hide its target.

Not Django's filter: it returns HTML, in which mentions could not be found. Not linkify-it: it also finds bare
domains, keeps "user@" before a host, and shows look-alike letters of any script in it.
"""

from collections import Counter
from typing import Final, NamedTuple
from urllib.parse import quote

import idna
import regex

MAX_SHOWN_CHARACTERS: Final = 60  # characters; a longer link is shortened in the middle
MAX_AUTHORITY: Final = 500  # characters: without a limit, many addresses in one word would take quadratic time
HEAD_CHARACTERS, TAIL_CHARACTERS = 20, 16  # characters kept on either side of the cut, in addition to the host

_LABEL: Final = r"[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?"
_TOP_LABEL: Final = (
    r"(?:xn--[a-z0-9-]{1,59}|[a-z]{2,63})(?![a-z0-9-])|[\p{L}--[\x00-\x7F]][\p{L}\p{M}--[\x00-\x7F]]{0,62}"
)
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}"
# Signs inside the titles of encyclopaedias, which do not end an address: dots, dashes and an apostrophe.
_TITLE_SIGNS: Final = "·・‐‑–—〜゠〃’"
# Letters of any script belong to a path, as on Mastodon: a browser copies the titles of Wikipedia unencoded. Text after
# a path therefore needs a space or a sign of punctuation before it, also in Chinese and Japanese.
_PATH: Final = rf"[[!-~\p{{L}}\p{{N}}\p{{M}}\u200C\u200D{_TITLE_SIGNS}]--[<>\"\\^`\{{|\}}]]"
_link = regex.compile(
    rf"(?P<scheme>https?://|(?=www\.))(?P<host>(?:{_LABEL}\.)+(?:{_TOP_LABEL}))(?P<port>:[0-9]{{1,5}}(?![0-9]))?(?P<rest>[/?#]{_PATH}*)?",
    regex.V1 | regex.IGNORECASE,
)
_authority = regex.compile(r"[^\s/?#\\]*")
_unambiguous_script = regex.compile(rf"[{_UNSPACED}]+", regex.V1)
_OPENING_BRACKETS: Final = {")": "(", "]": "["}


class Link(NamedTuple):
    """The position in the text at which a link ends, its address, and the text that a page shows for it."""

    end: int
    href: str
    shown: str


def parse_link(text: str, start: int) -> Link | None:
    """Return the link that begins at ``start`` ("http://", "https://" or "www."), or None."""
    found = _link.match(text, start)
    if found is None:
        return None
    scheme, host, port = found["scheme"], found["host"], found["port"] or ""
    if _has_user_info(text, start + len(scheme)):
        return None
    ascii_host = _encode_host(host)
    if ascii_host is None:
        return None
    rest = _strip_sentence_marks(found["rest"] or "")
    to = f"{ascii_host}{port}{quote(rest, safe=_UNQUOTED)}"
    front = f"{scheme}{host if _is_unambiguous(host) else ascii_host}{port}"
    end = found.end() - len(found["rest"] or "") + len(rest)
    return Link(end, f"{scheme.lower() or 'https://'}{to}", _shorten_link(front, rest))


_UNQUOTED: Final = "".join(map(chr, range(0x21, 0x7F)))


def _has_user_info(text: str, start: int) -> bool:
    """Return whether user information precedes the host, as in https://bank.example@evil.example"""
    found = _authority.match(text, start, start + MAX_AUTHORITY)
    return found is not None and "@" in found[0]


def _encode_host(host: str) -> str | None:
    """Return a host in its ASCII form (IDNA); None if it is invalid."""
    if host.isascii():
        return host if len(host) < 254 else None
    try:
        return idna.encode(host, uts46=True).decode()
    except UnicodeError:
        return None


def _is_unambiguous(host: str) -> bool:
    """Return whether no letter of the host resembles one of another script: all labels are ASCII or East Asian."""
    return all(label.isascii() or _unambiguous_script.fullmatch(label) for label in host.split("."))


_SENTENCE_MARKS: Final = f".,;:!?'{_TITLE_SIGNS}\u200c\u200d"


def _strip_sentence_marks(rest: str) -> str:
    """Return the rest of an address without trailing punctuation and closing brackets of the sentence around it."""
    # Counted once: a count at each sign would take quadratic time.
    end, left = len(rest), Counter(rest)
    while end:
        last = rest[end - 1]
        opening = _OPENING_BRACKETS.get(last)
        if last not in _SENTENCE_MARKS and (opening is None or left[last] <= left[opening]):
            break
        left[last] -= 1
        end -= 1
    return rest[:end]


def _shorten_link(front: str, rest: str) -> str:
    if len(front) + len(rest) <= MAX_SHOWN_CHARACTERS or len(rest) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return front + rest
    return f"{front}{rest[:HEAD_CHARACTERS]}…{rest[-TAIL_CHARACTERS:]}"
