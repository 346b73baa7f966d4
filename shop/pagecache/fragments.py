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
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

from django.template import Context, NodeList, TemplateSyntaxError
from django.template.base import Node, Parser, Template, Token
from django.template.loader import get_template
from django.utils.autoreload import file_changed
from django.utils.safestring import SafeString, mark_safe

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


class FragmentNode(Node):
    """The node of the tag. placeholder: None in a template without a name, which cannot be part of a cached page."""

    def __init__(self, placeholder: Fragment | None, nodelist: NodeList) -> None:
        self.placeholder, self.nodelist = placeholder, nodelist

    def render(self, context: Context) -> SafeString:
        """Return the enclosed part, or a placeholder."""
        cut = _current_split.get()
        if cut is None:
            return self.nodelist.render(context)
        if self.placeholder is None:
            cut.is_broken = True
            return self.nodelist.render(context)
        if self.placeholder.words & LIVE_WORDS:
            return cut.mark(self.placeholder, "")
        # A nested fragment is a part of the outer one.
        with _without_split():
            return cut.mark(self.placeholder, self.nodelist.render(context))


def compile_fragment(parser: Parser, token: Token) -> FragmentNode:
    """Compile the tag. Raises TemplateSyntaxError."""
    _, *rest = token.split_contents()
    quoted, words = (rest[0] if rest else ""), frozenset(rest[1:])
    if not re.fullmatch(r'"[a-z-]+"', quoted) or not words or words - FRAGMENT_WORDS:
        raise TemplateSyntaxError(f'{{% placeholder "name" words %}} takes a name and some of {sorted(FRAGMENT_WORDS)}')
    nodelist = parser.parse(("endplaceholder",))
    parser.delete_first_token()
    template = getattr(parser.origin, "template_name", None)
    return FragmentNode(Fragment(str(template), quoted.strip('"'), words) if template else None, nodelist)


@cache
def get_fragment_node(template: str, name: str) -> tuple[Template, FragmentNode]:
    """Return the tag of this fragment and its template. Raises SplitError if the template has no such tag."""
    whole: Template = get_template(template).template  # type: ignore[attr-defined]
    found = whole.nodelist.get_nodes_by_type(FragmentNode)
    nodes = [
        node for node in found if isinstance(node, FragmentNode) and node.placeholder and node.placeholder.name == name
    ]
    if len(nodes) != 1:
        raise SplitError(f"{len(nodes)} placeholders {name!r} in {template}")
    return whole, nodes[0]


def _clear_nodes(**kwargs: Any) -> None:
    """Drop cached nodes when the development server sees a changed template."""
    get_fragment_node.cache_clear()


file_changed.connect(_clear_nodes, dispatch_uid="shop.pagecache.fragments")
