"""What a post's text is made of: words, links, hashtags and mentions. It is read once, from left to right."""

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

import regex

from accounts.names import fold
from social.links import link_at

HASHTAG: Final = 100  # characters of a hashtag, folded
NAME: Final = 60  # characters of a name

Kind = Literal["text", "link", "hashtag", "mention"]
_begins = regex.compile(r"https?://|www\.|[@＠#＃]", regex.IGNORECASE)
_word_before = regex.compile(r"[\p{L}\p{N}\p{M}_]")
_no_link_after = {"h": regex.compile(r"[A-Za-z0-9_]"), "w": regex.compile(r"[A-Za-z0-9_.@/-]")}
_tag = regex.compile(r"[\p{L}\p{N}_][\p{L}\p{N}\p{M}_\u200C\u200D]*")
_joiners = regex.compile(r"[\u200C\u200D]")
_says_something = regex.compile(r"[\p{L}\p{No}\p{Nl}]")
_name = re.compile(r"[^\W_]+(?:[ ._'\-][^\W_]+)*")
# In these, words are written one after the other: a name may end anywhere.
_unspaced = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]"
)


class Token(NamedTuple):
    """A piece of the text as it was written, and what it means.

    value: a link's address, a hashtag folded, or the name that is mentioned as it was written. folded: that name,
    folded. shown: how a link is shown.
    """

    kind: Kind
    text: str
    value: str = ""
    shown: str = ""
    folded: str = ""


def tokenise(text: str, is_name: Callable[[str], bool]) -> Iterator[Token]:
    """The pieces of ``text``: put together again they are the text. is_name: whether a folded name is somebody's."""
    plain = position = 0  # where the words that were not given out yet begin, and where to look on
    while found := _begins.search(text, position):
        start, position = found.span()
        token = _token(text, start, is_name, follows=0 < start == plain)
        if token is None:
            continue
        if plain < start:
            yield Token("text", text[plain:start])
        yield token
        plain = position = start + len(token.text)
    if plain < len(text):
        yield Token("text", text[plain:])


def names_in(text: str) -> list[str]:
    """All names, folded, that somebody may be mentioned by in ``text``: a bounded number, for the text is."""
    found: dict[str, None] = {}

    def note(name: str) -> bool:
        found[name] = None
        return False

    for _ in tokenise(text, note):
        pass
    return list(found)


def hashtags_in(text: str) -> list[str]:
    """The hashtags of ``text``, folded, each once."""
    found = tokenise(text, lambda name: False)
    return list(dict.fromkeys(token.value for token in found if token.kind == "hashtag"))


def fold_hashtag(written: str) -> str | None:
    """What the spellings of one hashtag (without its #) have in common; None if it is none."""
    folded = _joiners.sub("", fold(written))
    is_one = len(folded) <= HASHTAG and _tag.fullmatch(folded) and _says_something.search(folded)
    return folded if is_one else None


def _token(text: str, start: int, is_name: Callable[[str], bool], *, follows: bool) -> Token | None:
    """What begins there, or None. follows: directly after another link, hashtag or mention."""
    before, sign = text[start - 1 : start], text[start]
    is_inside = bool(_word_before.match(before) and not _unspaced.match(before))
    if sign in "@＠":
        name = "" if is_inside else _longest_name(text, start + 1, is_name)
        return Token("mention", sign + name, name, folded=fold(name)) if name else None
    if sign in "#＃":
        if is_inside or follows or before in ("&", "/", "#", "＃"):  # some write #this#, and the second one ends it
            return None
        written = _tag.match(text, start + 1)
        folded = fold_hashtag(written[0]) if written else None
        return Token("hashtag", sign + written[0], folded) if written and folded else None
    link = None if _no_link_after[sign.lower()].match(before) else link_at(text, start)
    return Token("link", text[start : link.end], link.href, link.shown) if link else None


def _longest_name(text: str, start: int, is_name: Callable[[str], bool]) -> str:
    """The longest name there that is somebody's; "" if none is."""
    run = _name.match(text, start, start + NAME)
    if run is None:
        return ""
    for end in range(run.end(), start, -1):
        if _may_end(text, end) and is_name(fold(text[start:end])):
            return text[start:end]
    return ""


def _may_end(text: str, end: int) -> bool:
    """Whether a name may end there: at the end of a word."""
    last, following = text[end - 1], text[end : end + 1]
    if not last.isalnum():
        return False
    return not _word_before.match(following) or bool(_unspaced.match(last) or _unspaced.match(following))
