"""Holes: the parts of a page that are not the same for everybody, or not for as long as the page is remembered.

``{% hole "name" person theme %}...{% endhole %}`` is one tag around what is there anyway. Where no page is made to
be remembered it just renders what it encloses. Where one is, a mark goes to its place, by which the page is split;
what is enclosed is rendered when the page is served, with the request, the context processors and what the page's
declaration gives (``Page.values``), and with nothing that the template around it has set.

The words say when it has to be rendered. Otherwise the page comes with what a stranger sees there:

    person      for who has a session
    messages    for who may have been left a message
    theme       for who has chosen a theme
    address     where the page is asked for by an address with more to it than the page was made for
    reads       for everybody: it depends on what it reads from Redis. For strangers it is kept for a moment by that
    always      for everybody, each time
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

WORDS: Final = frozenset({"person", "messages", "theme", "address", "reads", "always"})
LIVE: Final = frozenset({"reads", "always"})  # nobody is given what was made with the page


class NotCuttable(Exception):
    """The page cannot be split at its holes."""


class Hole(NamedTuple):
    """Where a hole is written: the template, and its name there. words: when it has to be rendered."""

    template: str
    name: str
    words: frozenset[str]


@dataclass
class Cut:
    """A page that is being split: its holes in order, each with what a stranger sees there.

    is_broken: there is one in a template without a name, which nobody could find again.
    """

    holes: list[tuple[Hole, str]] = field(default_factory=list)
    # Not to be guessed, and new for each page: what a reader wrote cannot hold a mark.
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    is_broken: bool = False

    def mark(self, hole: Hole, fill: str) -> SafeString:
        """What goes to the place of the next hole."""
        self.holes.append((hole, fill))
        return mark_safe(f"<!--{self.nonce}:{len(self.holes) - 1}-->")

    def split(self, text: str) -> list[str]:
        """The pieces around the holes, one more than there are holes. Raises NotCuttable when a mark is missing, there
        twice, or not in its order, and when one hole is in several places.
        """
        places = [hole[:2] for hole, _ in self.holes]
        if self.is_broken:
            raise NotCuttable("a hole is in a template without a name")
        if len(set(places)) != len(places):
            raise NotCuttable(f"a hole is there more than once: {places}")
        pieces = re.split(f"<!--{self.nonce}:([0-9]+)-->", text)
        if pieces[1::2] != [str(number) for number in range(len(places))] or text.count(self.nonce) != len(places):
            raise NotCuttable("the marks of the holes did not come through as they went in")
        return pieces[::2]


_cut: ContextVar[Cut | None] = ContextVar("page_cut", default=None)


@contextmanager
def cutting() -> Generator[Cut, None, None]:
    """Pages that are rendered in the block have marks in the places of their holes."""
    cut = Cut()
    token = _cut.set(cut)
    try:
        yield cut
    finally:
        _cut.reset(token)


@contextmanager
def _whole() -> Generator[None, None, None]:
    token = _cut.set(None)
    try:
        yield
    finally:
        _cut.reset(token)


class HoleNode(Node):
    """The tag. hole: None where it is in a template without a name, which no remembered page is made of."""

    def __init__(self, hole: Hole | None, nodelist: NodeList) -> None:
        self.hole, self.nodelist = hole, nodelist

    def render(self, context: Context) -> SafeString:
        """What is enclosed, or a mark."""
        cut = _cut.get()
        if cut is None:
            return self.nodelist.render(context)
        if self.hole is None:
            cut.is_broken = True
            return self.nodelist.render(context)
        if self.hole.words & LIVE:
            return cut.mark(self.hole, "")
        with _whole():  # a hole in a hole is a part of it
            return cut.mark(self.hole, self.nodelist.render(context))


def compile_hole(parser: Parser, token: Token) -> HoleNode:
    """Read the tag. Raises TemplateSyntaxError."""
    _, *rest = token.split_contents()
    quoted, words = (rest[0] if rest else ""), frozenset(rest[1:])
    if not re.fullmatch(r'"[a-z-]+"', quoted) or not words or words - WORDS:
        raise TemplateSyntaxError(f'{{% hole "name" words %}} takes a name and some of {sorted(WORDS)}')
    nodelist = parser.parse(("endhole",))
    parser.delete_first_token()
    template = getattr(parser.origin, "template_name", None)
    return HoleNode(Hole(str(template), quoted.strip('"'), words) if template else None, nodelist)


@cache
def node_of(template: str, name: str) -> tuple[Template, HoleNode]:
    """The tag of this hole, and the template that it is in. Raises NotCuttable when that has none of this name."""
    whole: Template = get_template(template).template  # type: ignore[attr-defined]
    found = whole.nodelist.get_nodes_by_type(HoleNode)
    nodes = [node for node in found if isinstance(node, HoleNode) and node.hole and node.hole.name == name]
    if len(nodes) != 1:
        raise NotCuttable(f"{len(nodes)} holes {name!r} in {template}")
    return whole, nodes[0]


def _forget(**kwargs: Any) -> None:
    """While the server for developers runs, templates change under it."""
    node_of.cache_clear()


file_changed.connect(_forget, dispatch_uid="shop.pagecache.holes")
