"""How posts are shown. What is made of a record is remembered by the record itself, so it is never stale."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

import orjson
from django import template
from django.http import HttpRequest
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.autoreload import file_changed
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from accounts.names import page_of
from catalog import covers
from social.markup import to_html
from social.models import new_key
from social.text import MOST

register = template.Library()

CARDS: Final = 4096  # remembered; each takes about 2 kB
COMPOSERS: Final = 1024  # remembered; 2 kB each
LONGEST: Final = 4000  # bytes of a record that is worth remembering: few are longer, and those take much room


class Record(Protocol):
    """A post's record."""

    raw: bytes


class Page(Protocol):
    """A page of posts, as ``social.reading.PostPage``."""

    posts: Sequence[Any]
    after: int | None


class Card(NamedTuple):
    """What a record looks like, and what decides about the rest."""

    id: int
    author: int
    html: SafeString


@register.simple_tag
def post_cards(page: Page, viewer: Any = None) -> list[SafeString]:
    """The cards of a page, one for each of its posts. viewer: who looks (a user, or a user's id; None: a stranger)."""
    me, language = getattr(viewer, "pk", viewer), get_language() or ""
    return [_with_own(card_of(post.raw, language), me) for post in page.posts]


@register.simple_tag
def post_card(post: Record, viewer: Any = None) -> SafeString:
    """The card of one post."""
    return _with_own(card_of(post.raw, get_language() or ""), getattr(viewer, "pk", viewer))


@register.simple_tag(takes_context=True)
def post_key(context: Context) -> str:
    """A new key for a form, so that what is sent twice is posted once; where a form is made to be filled in later, what
    stands for it.
    """
    return str(context.get("stands_for_key") or new_key())


@register.simple_tag(takes_context=True)
def composer_about(context: Context, book: Mapping[str, Any], way_on: str) -> SafeString:
    """The empty form for a post about a book. way_on: where to go after posting."""
    before, between, after = _composer(book["id"], book["title"], way_on, get_language() or "")
    return mark_safe(before + str(context.get("csrf_token", "")) + between + new_key() + after)


@lru_cache(maxsize=COMPOSERS)
def _composer(book_id: int, title: str, way_on: str, language: str) -> tuple[str, str, str]:
    """The form, around the two things in it that are new each time: the token and the key."""
    shown = {"book": {"id": book_id, "title": title}, "way_on": way_on, "request": HttpRequest()}
    token, key = secrets.token_hex(32), secrets.token_hex(16)  # nobody who made up a title has guessed them
    text = render_to_string("social/_composer.html", {**shown, "csrf_token": token, "stands_for_key": key})
    before, _, rest = text.partition(token)
    between, _, after = rest.partition(key)
    return before, between, after


@register.simple_tag
def room() -> int:
    """How many characters a post has room for."""
    return MOST


def card_of(raw: bytes, language: str) -> Card:
    """The card of a record, as everybody sees it."""
    return _remembered(raw, language) if len(raw) <= LONGEST else _card(raw)


@lru_cache(maxsize=CARDS)
def _remembered(raw: bytes, language: str) -> Card:
    return _card(raw)


def _card(raw: bytes) -> Card:
    """What depends on nothing but the record (and the language, which is active)."""
    post = orjson.loads(raw)
    book = post["book"]
    shown = {
        "post": post,
        "text": to_html(post["text"], post["mentions"]),
        "time": datetime.fromisoformat(post["time"]),
        "author_url": page_of(post["user"]["name"]),
        "cover": covers.cover(book["id"], book["title"], "") if book else "",
    }
    return Card(post["id"], post["user"]["id"], render_to_string("social/_post.html", shown))


def _with_own(card: Card, me: int | None) -> SafeString:
    if card.author != me:
        return card.html
    link = '<p class="post-own"><a href="/posts/{}/delete/">{}</a></p>'
    return mark_safe(card.html + format_html(link, card.id, gettext("Delete")))


def _forget(**kwargs: Any) -> None:
    """While the server for developers runs, templates change under it."""
    _remembered.cache_clear()
    _composer.cache_clear()


file_changed.connect(_forget, dispatch_uid="social.posts")
