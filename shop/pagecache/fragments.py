"""Cache fragments: parts of a page that differ between visitors, or that change while the page is cached.

``{% placeholder "name" person theme %}...{% endplaceholder %}`` encloses a part of a template. When no
page is being cached, the tag renders its content. When one is, it leaves a placeholder, and the page is split there.
The fragment is rendered when the page is served. Its context has the request, the context processors and the values
that the page declares (``Page.values``), but no variables of the surrounding template.

The words state when the fragment is rendered. In all other cases the visitor gets the version of an anonymous visitor:

    person      for visitors with a session
    messages    for visitors who may have messages
    theme       for visitors with a chosen theme
    address     for URLs with more parameters than the page declares
    reads       for everyone, because it depends on Redis; the anonymous version is cached for a moment
    always      for everyone, each time
"""

import re
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe
from jinja2 import Template, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

FRAGMENT_WORDS: Final = frozenset({"person", "messages", "theme", "address", "reads", "always"})
LIVE_WORDS: Final = frozenset({"reads", "always"})  # never served as they were when the page was cached


class SplitError(Exception):
    """The page cannot be split at its placeholders."""


class Fragment(NamedTuple):
    """A cache fragment: its template and its name there. words: when it must be rendered."""

    template: str
    name: str
    words: frozenset[str]


@dataclass
class PageSplit:
    """The placeholders of a page that is being split, each with the fragment of an anonymous visitor.

    is_broken: a fragment is in a template without a name, so it could not be found again.
    """

    placeholders: list[tuple[Fragment, str]] = field(default_factory=list)
    # Unpredictable and new for each page, so that no text of a reader can contain a placeholder.
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    is_broken: bool = False

    def mark(self, placeholder: Fragment, fill: str) -> SafeString:
        """Return the placeholder of the next fragment."""
        self.placeholders.append((placeholder, fill))
        return mark_safe(f"<!--{self.nonce}:{len(self.placeholders) - 1}-->")

    def split(self, text: str) -> list[str]:
        """Return the pieces around the placeholders, one more than there are placeholders.

        Raises SplitError if a placeholder is missing, repeated or out of order, or if a fragment occurs twice.
        """
        places = [placeholder[:2] for placeholder, _ in self.placeholders]
        if self.is_broken:
            raise SplitError("a placeholder is in a template without a name")
        if len(set(places)) != len(places):
            raise SplitError(f"a placeholder is there more than once: {places}")
        pieces = re.split(f"<!--{self.nonce}:([0-9]+)-->", text)
        # A filter or middleware may have cut or repeated a mark, and fragments would be filled into wrong places.
        if pieces[1::2] != [str(number) for number in range(len(places))] or text.count(self.nonce) != len(places):
            raise SplitError("the marks of the placeholders changed on the way")
        return pieces[::2]


_current_split: ContextVar[PageSplit | None] = ContextVar("page_cut", default=None)


@contextmanager
def split_pages() -> Generator[PageSplit, None, None]:
    """Let the pages that are rendered in the block have placeholders."""
    cut = PageSplit()
    token = _current_split.set(cut)
    try:
        yield cut
    finally:
        _current_split.reset(token)


@contextmanager
def _without_split() -> Generator[None, None, None]:
    token = _current_split.set(None)
    try:
        yield
    finally:
        _current_split.reset(token)


class PlaceholderExtension(Extension):
    """The tag ``placeholder`` of Jinja2. Its content is compiled to a block, which can be rendered alone."""

    tags = {"placeholder"}

    def parse(self, parser: Parser) -> nodes.Node:
        """Compile the tag. Raises TemplateSyntaxError."""
        line = next(parser.stream).lineno
        name = parser.stream.next_if("string")
        words = []
        while word := parser.stream.next_if("name"):
            words.append(word.value)
        if name is None or not re.fullmatch("[a-z-]+", name.value) or not words or set(words) - FRAGMENT_WORDS:
            text = f'{{% placeholder "name" words %}} takes a name and some of {sorted(FRAGMENT_WORDS)}'
            raise TemplateSyntaxError(text, line, parser.name, parser.filename)
        content = parser.parse_statements(("name:endplaceholder",), drop_needle=True)
        block = nodes.Block(_name_block(name.value), content, False, False, lineno=line)
        # A template of a string has no name, so its fragments could not be found again.
        described: list[nodes.Expr] = [nodes.Const(value) for value in (parser.name, name.value, tuple(words))]
        return nodes.CallBlock(self.call_method("_render", described), [], [], [block], lineno=line)

    def _render(self, template: str | None, name: str, words: tuple[str, ...], caller: Callable[[], str]) -> str:
        """Return the enclosed part, or a placeholder."""
        cut = _current_split.get()
        if cut is None:
            return caller()
        if template is None:
            cut.is_broken = True
            return caller()
        fragment = Fragment(template, name, frozenset(words))
        if fragment.words & LIVE_WORDS:
            return cut.mark(fragment, "")
        # A nested fragment is a part of the outer one.
        with _without_split():
            return cut.mark(fragment, caller())


def _name_block(name: str) -> str:
    return f"placeholder_{name.replace('-', '_')}"


def render_fragment(fragment: Fragment, values: Mapping[str, Any]) -> str:
    """Return a fragment rendered with these values. Raises SplitError if its template has no such placeholder."""
    template: Template = get_template(fragment.template).template  # type: ignore[attr-defined]
    block = template.blocks.get(_name_block(fragment.name))
    if block is None:
        raise SplitError(f"no placeholder {fragment.name!r} in {fragment.template}")
    return "".join(block(template.new_context(dict(values))))
