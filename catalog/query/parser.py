"""Parse a typed text into a query, or raise an error that points at the place."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from catalog.names import normalise
from catalog.query.nodes import And, Node, Not, Or, Tag

MAX_LENGTH: Final = 2000  # characters
MAX_TERMS: Final = 100  # names, including repetitions
MAX_DEPTH: Final = 50  # nested brackets and negations

# Signs as word processors, phones and Chinese keyboards write them. Names in quotes keep theirs.
OTHER_SIGNS: Final = str.maketrans("＆｜（）‐‑‒–—―−﹣－", "&|()---------")
# Quotes that close a name, by the quote that opens it: a word processor of another language may have set them.
CLOSING_QUOTES: Final = {
    '"': '"', "＂": "＂", "“": "”“", "”": "”", "„": "“”", "‟": "”",
    "«": "»", "»": "«", "「": "」", "『": "』", "〝": "〞〟",
}  # fmt: skip
_QUOTES: Final = "".join(sorted({*CLOSING_QUOTES, *"".join(CLOSING_QUOTES.values())}))
_NAME_CHARACTER: Final = rf"[^\s&|(){_QUOTES}-]"
# A hyphen belongs to a word if the word continues after it.
BARE_NAME = re.compile(rf"{_NAME_CHARACTER}+(?:-+{_NAME_CHARACTER}+)*")
# Characters that neither SQL nor Redis can store: NUL, and halves of surrogate pairs.
FORBIDDEN_CHARACTERS = re.compile("[\0\ud800-\udfff]")
MAX_EXCERPT_LENGTH: Final = 60  # characters shown before and after the place of an error


class QueryError(ValueError):
    """An invalid query.

    message: for the reader, translated when shown. position: the 0-based index of the first wrong character. length:
    the number of wrong characters, at least 1, even if the position is the end of the text. text: the whole query.
    """

    def __init__(self, message: str | Promise, position: int, text: str, length: int = 1) -> None:
        super().__init__(message, position)
        self.message = message
        self.position = position
        self.text = text
        self.length = length

    def __str__(self) -> str:
        return str(self.message)

    @property
    def excerpt(self) -> tuple[str, str, str]:
        """The text before the place, at the place, and after it; each is at most a few words long."""
        start, end = self.position, self.position + self.length
        at, after = self.text[start:end], self.text[end:]
        return (
            self.text[max(0, start - MAX_EXCERPT_LENGTH) : start],
            at[:MAX_EXCERPT_LENGTH],
            after[:MAX_EXCERPT_LENGTH],
        )


class _Token(NamedTuple):
    kind: str  # "name", "end", or the sign itself
    text: str  # of a name: normalised
    start: int
    length: int


def parse(text: str) -> Node | None:
    """Return the query in ``text``, or None if the text is blank. Raises QueryError and no other exception."""
    if len(text) > MAX_LENGTH:
        message = format_lazy(_("The query is too long: at most {most} characters."), most=MAX_LENGTH)
        raise QueryError(message, MAX_LENGTH, text, len(text) - MAX_LENGTH)
    if bad := FORBIDDEN_CHARACTERS.search(text):
        raise QueryError(_("Tag names cannot contain this character."), bad.start(), text)
    if not text.strip():
        return None
    return _Parser(text).whole()


def _tokenise(text: str) -> Iterator[_Token]:
    position = 0
    # As long as the text, so that positions in both are the same.
    signs = text.translate(OTHER_SIGNS)
    while position < len(text):
        character = signs[position]
        if character.isspace():
            position += 1
            continue
        if character in _QUOTES:
            name, length = _read_quoted_name(text, position)
            token = _Token("name", name, position, length)
        elif bare := BARE_NAME.match(signs, position):
            token = _Token("name", normalise(bare[0]), position, len(bare[0]))
        else:  # one of & | - ( )
            token = _Token(character, character, position, 1)
        if not token.text:
            raise QueryError(_("The quotation marks are empty."), position, text, token.length)
        yield token
        position += token.length
    yield _Token("end", "", len(text), 1)


def _read_quoted_name(text: str, start: int) -> tuple[str, int]:
    """Return the name in the quotes that open at ``start``, and its length in the text, quotes included.

    A straight quote inside is written as \\" or "". A backslash is written as \\\\, or as itself before any other
    character.
    """
    found: list[str] = []
    closing = CLOSING_QUOTES.get(text[start], "")
    position = start + 1
    while position < len(text):
        pair = text[position : position + 2]
        if pair in ('\\"', "\\\\") or (pair == '""' and closing == '"'):
            found.append(pair[1])
            position += 2
        elif pair[0] in closing:
            return normalise("".join(found)), position + 1 - start
        else:
            found.append(pair[0])
            position += 1
    raise QueryError(_("This quotation mark is not closed."), start, text)


class _Parser:
    """A recursive descent parser. Its depth is bounded, so no text can exhaust the stack."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokenise(text)
        self.last: _Token | None = None  # the one before ``token``
        self.token = next(self.tokens)
        self.terms = 0  # names of the query so far, which are limited

    def whole(self) -> Node:
        node = self.parse_or(0)
        if self.token.kind == ")":
            raise self.error(_("This closing bracket has no opening bracket."), self.token)
        return node

    def parse_or(self, depth: int) -> Node:
        parts = [self.parse_and(depth)]
        while self.token.kind == "|":
            self.take()
            parts.append(self.parse_and(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def parse_and(self, depth: int) -> Node:
        parts = [self.one(depth)]
        while self.token.kind not in ("|", ")", "end"):
            if self.token.kind == "&":
                self.take()
            # Also at "-": a difference is "and not".
            parts.append(self.one(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def one(self, depth: int) -> Node:
        token = self.token
        if depth > MAX_DEPTH:
            raise self.error(_("The query is nested too deeply."), token)
        if token.kind == "name":
            return self.name()
        if token.kind == "-":
            self.take()
            return Not(self.one(depth + 1))
        if token.kind == "(":
            self.take()
            if self.token.kind == ")":
                message = _("The brackets are empty.")
                raise QueryError(message, token.start, self.text, self.token.start + 1 - token.start)
            node = self.parse_or(depth + 1)
            if self.token.kind != ")":
                raise self.error(_("This opening bracket has no closing bracket."), token)
            self.take()
            return node
        raise self.missing()

    def name(self) -> Tag:
        self.terms += 1
        if self.terms > MAX_TERMS:
            message = format_lazy(_("The query has too many tags: at most {most}."), most=MAX_TERMS)
            raise self.error(message, self.token)
        return Tag(self.take().text)

    def take(self) -> _Token:
        self.last, self.token = self.token, next(self.tokens)
        return self.last

    def missing(self) -> QueryError:
        """Return the error for a missing tag. It points at the operator or bracket before the place."""
        if self.last is None or self.last.kind == "name":
            token, message = self.token, _("A tag is missing before “{sign}”.")
        else:
            token, message = self.last, _("A tag is missing after “{sign}”.")
        return self.error(format_lazy(message, sign=token.text), token)

    def error(self, message: str | Promise, token: _Token) -> QueryError:
        return QueryError(message, token.start, self.text, token.length)
