"""Reviews as HTML: a safe subset of Markdown.

Paragraphs, line breaks, emphasis, lists, quotes, links, and spoilers between two pairs of bars: ``||the butler||``.
There are no images, no headings and no HTML of the writer. Plain words are rendered as in posts, so hashtags and
addresses are links.
"""

import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from django.template.loader import render_to_string
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from common.rendered import remember_rendered
from social.content.html import EXTERNAL_LINK, to_html
from social.content.spoilers import OMISSION

MAX_BYTES: Final = 16_000_000  # of remembered reviews; the longest take about 60 kB
MAX_NESTING: Final = 24  # of blocks within one another: a quote is one, an item of a list two
BARS: Final = "||"
BULLET: Final = "•"  # before an item of a list that became part of a paragraph
# Names in the environment of a rendering: the host of the present link, and the mentioned readers.
HOST: Final = "host"
MENTIONS: Final = "mentions"
# The bars touch the words, unlike those of a writer who separates words with them.
_long_spoiler: Final = re.compile(r"\|\|(?=\S)(?:(?!\|\|).)+?(?<=\S)\|\|", re.DOTALL)
_marks: Final = r"(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))[ \t]*)"  # of quotes and of items of a list
# The end of a paragraph, an item or a quote, with the marks of those that follow.
_end_of_block: Final = re.compile(rf"(?:\n\s*\n{_marks}*|\n{_marks}+)+")
RULES: Final = ("blockquote", "list", "emphasis", "link", "newline", "escape")


@remember_rendered(MAX_BYTES)
def render_markdown(text: str, mentions: tuple[str, ...] = ()) -> SafeString:
    """Return a review's text as HTML. mentions: the names that link to readers' pages."""
    return mark_safe(_parser.render(_close_spoilers(text), {MENTIONS: mentions}))


def strip_markdown(text: str, *, with_spoilers: bool = False) -> str:
    """Return the words of a review without marks, its paragraphs and items in lines. Without spoilers, ``OMISSION``
    stands for each.
    """
    parts: list[str] = []
    begins_item = False
    for block in _parser.parse(_close_spoilers(text)):
        words = _join_words(block.children or (), with_spoilers) if block.type == "inline" else ""
        if words.strip():
            parts.append(f"{BULLET} {words}" if begins_item else words)
        begins_item = block.type == "list_item_open" or (begins_item and not words)
    lines = (" ".join(line.split()) for line in "\n".join(parts).splitlines())
    return "\n".join(filter(None, lines))


def is_too_nested(text: str) -> bool:
    """Return whether quotes and lists are nested so deeply that the parser would leave out their words."""
    return any(block.nesting == 1 and block.level >= MAX_NESTING - 1 for block in _parser.parse(_close_spoilers(text)))


def _close_spoilers(text: str) -> str:
    """Divide spoilers of several paragraphs or items into one for each, because marks in a line end with the block."""
    return _long_spoiler.sub(lambda found: _end_of_block.sub(rf"{BARS}\g<0>{BARS}", found[0]), text)


def _join_words(tokens: Sequence[Token], with_spoilers: bool) -> str:
    parts: list[str] = []
    for token in tokens:
        if token.type == "spoiler":
            parts.append(_join_words(token.children or (), with_spoilers) if with_spoilers else OMISSION)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        else:
            parts.append(token.content)
    return "".join(parts)


def _parse_spoiler(state: StateInline, silent: bool) -> bool:
    """Parse a spoiler, a rule of the parser. Its text may have emphasis and links, but no further spoiler."""
    start = state.pos + len(BARS)
    # A check box must not stand in a link.
    if not state.src.startswith(BARS, state.pos) or state.linkLevel:
        return False
    end = state.src.find(BARS, start, state.posMax)
    if end <= start or not state.src[start:end].strip():
        return False
    if not silent:
        token = state.push("spoiler", "", 0)
        token.content = state.src[start:end].strip()
        token.children = state.md.parseInline(token.content, state.env)[0].children
    state.pos = end + len(BARS)
    return True


def _render_spoiler(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    # A check box, because <details> may not stand in a paragraph.
    inside = renderer.renderInline(tokens[index].children or [], options, env)
    return render_to_string("social/reviews/_spoiler.html", {"text": mark_safe(inside)})


def _render_text(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    content = tokens[index].content
    # Within a link no further one may begin.
    return escape(content) if env.get(HOST) else to_html(content, env[MENTIONS])


def _render_link_open(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    opening, _, _ = EXTERNAL_LINK.partition("{}</a>")
    address = str(tokens[index].attrs["href"])
    env[HOST] = urlsplit(address).netloc
    return format_html(opening, address)


def _render_link_close(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Return the end of a link with its host, so that its text cannot hide where it leads."""
    return format_html('</a> <span class="muted">({})</span>', env.pop(HOST))


def _is_allowed(address: str) -> bool:
    """Return whether a link may lead to this address: one of the web, with a host and without a user's name."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"maxNesting": MAX_NESTING, "breaks": True}).enable(list(RULES))
    parser.inline.ruler.before("emphasis", "spoiler", _parse_spoiler)
    parser.inline.add_terminator_char("|")
    parser.validateLink = _is_allowed  # type: ignore[assignment, method-assign]
    for name, rule in (
        ("spoiler", _render_spoiler),
        ("text", _render_text),
        ("link_open", _render_link_open),
        ("link_close", _render_link_close),
    ):
        parser.add_render_rule(name, rule)
    return parser


_parser: Final = _make_parser()
