"""Tokens of a post's text: plain text, links, hashtags and mentions. The text is read once, from left to right."""

from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

import regex

from accounts.names import name_pattern
from common.text import fold
from social.content.links import parse_link

MAX_HASHTAG_LENGTH: Final = 100  # characters of a hashtag, folded
MAX_NAME_LENGTH: Final = 60  # characters of a name

Kind = Literal["text", "link", "hashtag", "mention"]
_token_start = regex.compile(r"https?://|www\.|[@＠#＃]", regex.IGNORECASE)
_word_before = regex.compile(r"[\p{L}\p{N}\p{M}_\u200C\u200D]")
_name_end = regex.compile(r"[\p{L}\p{N}\p{M}\u05F3\u05F4\u200D]")
_no_link_after = {"h": regex.compile(r"[A-Za-z0-9_]"), "w": regex.compile(r"[A-Za-z0-9_.@/-]")}
_TAG_WORD: Final = r"[\p{L}\p{N}_][\p{L}\p{N}\p{M}_\u200C\u200D]*"
# Join the words of a hashtag, and do not end it: hyphens, as in the names of tags, and the dots of Catalan and Japanese
# names, Hebrew and Tibetan signs, and Japanese dashes, as on other social sites.
_TAG_SIGNS: Final = r"[\-‐‑－·・･־׳״་゠〃〜]"
_tag = regex.compile(rf"{_TAG_WORD}(?:{_TAG_SIGNS}+{_TAG_WORD})*")
_has_letter = regex.compile(r"[\p{L}\p{No}\p{Nl}]")
_longer_handle = regex.compile(r"[.\-_]+[\p{L}\p{N}--[\p{Han}\p{Hiragana}\p{Katakana}]]|[@＠]|://", regex.V1)
# Scripts without spaces between words, in which a name may end after any letter.
_unspaced = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]"
)


class Token(NamedTuple):
    """A piece of the text as written, and its meaning.

    ``value``: the address of a link, a folded hashtag, or a mentioned name as written. ``folded``: the mentioned name,
    folded. ``shown``: the text that a page shows for a link.
    """

    kind: Kind
    text: str
    value: str = ""
    shown: str = ""
    folded: str = ""


def tokenise(text: str, is_name: Callable[[str], bool]) -> Iterator[Token]:
    """Yield the tokens of ``text``, which together cover it. ``is_name`` says whether a folded name exists."""
    plain = position = 0  # start of the pending plain text, and of the search
    while found := _token_start.search(text, position):
        start, position = found.span()
        token = _parse_token(text, start, is_name, follows=0 < start == plain)
        if token is None:
            continue
        if plain < start:
            yield Token("text", text[plain:start])
        yield token
        plain = position = start + len(token.text)
    if plain < len(text):
        yield Token("text", text[plain:])


def find_names(text: str) -> list[str]:
    """Return all folded names that ``text`` may mention. The bounded length of a text bounds their number."""
    found: dict[str, None] = {}

    def note(name: str) -> bool:
        found[name] = None
        return False

    for _ in tokenise(text, note):
        pass
    return list(found)


def find_hashtags(text: str) -> list[str]:
    """Return the hashtags of ``text``, folded, each once."""
    found = tokenise(text, lambda name: False)
    return list(dict.fromkeys(token.value for token in found if token.kind == "hashtag"))


def fold_hashtag(written: str) -> str | None:
    """Return the folded form of a hashtag (without its #); None if it is invalid."""
    folded = fold(written)
    is_one = len(folded) <= MAX_HASHTAG_LENGTH and _tag.fullmatch(folded) and _has_letter.search(folded)
    return folded if is_one else None


def _parse_token(text: str, start: int, is_name: Callable[[str], bool], *, follows: bool) -> Token | None:
    """Return the token that begins at ``start``, or None.

    ``follows`` says that the previous token was a link, hashtag or mention that ends at ``start``.
    """
    before, sign = text[start - 1 : start], text[start]
    is_inside = bool(_word_before.match(before) and not _unspaced.match(before))
    if sign in "@＠":
        # An @ in an address of the web ("/@ken") names a reader of another site.
        name = "" if is_inside or before in ("/", "=") else _find_longest_name(text, start + 1, is_name)
        return Token("mention", sign + name, name, folded=fold(name)) if name else None
    if sign in "#＃":
        if is_inside or follows or before in ("&", "/", "=", "#", "＃"):  # the second # of "#this#" closes the hashtag
            return None
        written = _tag.match(text, start + 1)
        folded = fold_hashtag(written[0]) if written else None
        return Token("hashtag", sign + written[0], folded) if written and folded else None
    link = None if _no_link_after[sign.lower()].match(before) else parse_link(text, start)
    return Token("link", text[start : link.end], link.href, link.shown) if link else None


def _find_longest_name(text: str, start: int, is_name: Callable[[str], bool]) -> str:
    """Return the longest existing name that begins at ``start``; "" if there is none."""
    run = name_pattern.match(text, start, start + MAX_NAME_LENGTH)
    if run is None:
        return ""
    for end in range(run.end(), start, -1):
        if _may_name_end(text, end) and is_name(fold(text[start:end])):
            return text[start:end]
    return ""


def _may_name_end(text: str, end: int) -> bool:
    """Return whether a name may end at ``end``, which must be the end of a word.

    A longer handle that begins with the name is another one: "@nsa.gov" does not mention nsa, nor does "@alice@site".
    """
    if _longer_handle.match(text, end):
        return False
    last, following = text[end - 1], text[end : end + 1]
    if not _name_end.match(last):
        return False
    return not _word_before.match(following) or bool(_unspaced.match(last) or _unspaced.match(following))
