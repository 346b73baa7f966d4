"""How books are shown. What is made of a record is remembered by the record itself, so it is never stale."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from catalog import covers, query
from catalog.results import BookList, BookRecord

register = template.Library()

TAGS: Final = 3  # shown on a card
REMEMBERED: Final = 4096  # cards; each takes about 3 kB


@register.simple_tag
def cover(book: BookRecord) -> SafeString:
    """The cover of a book, with its first author."""
    authors = book["authors"]
    return covers.cover(book["id"], book["title"], authors[0] if authors else "")


@register.filter
def year(value: int) -> str:
    """-750 -> "750 BC"."""
    return str(value) if value >= 0 else gettext("%(year)d BC") % {"year": -value}


@register.simple_tag
@lru_cache(maxsize=REMEMBERED)
def tag_link(name: str, css: str = "chip") -> SafeString:
    """A link to the books with a tag."""
    text = query.to_text(query.Tag(name))
    return format_html('<a class="{}" href="/books/?{}">{}</a>', css, urlencode({"q": text}), name)


@register.simple_tag
def cards(page: BookList) -> Iterator[SafeString]:
    """The cards of a page, one after another."""
    common = [name for name, _ in page.found.facets]
    language = get_language() or ""
    for book in page.books:
        links = mark_safe("".join(tag_link(name, "tag") for name in _telling(_tags(book.raw), common)))
        yield mark_safe(
            f'{_card(book.raw, language)}<p class="card-tags">{links}</p>' if links else _card(book.raw, language)
        )


def _telling(tags: Sequence[str], common: Iterable[str]) -> list[str]:
    """A few of a book's tags that others of the result have too, and of those the ones that fewest have."""
    own = frozenset(tags)
    shared = [name for name in common if name in own]
    return shared[-TAGS:] or list(tags[:TAGS])


@lru_cache(maxsize=REMEMBERED)
def _tags(raw: bytes) -> tuple[str, ...]:
    return tuple(orjson.loads(raw)["tags"])


@lru_cache(maxsize=REMEMBERED)
def _card(raw: bytes, language: str) -> SafeString:
    """The part of a card that depends on nothing but the record (and the language, which is active)."""
    book: dict[str, Any] = orjson.loads(raw)
    return render_to_string("catalog/_card.html", {"book": book})
