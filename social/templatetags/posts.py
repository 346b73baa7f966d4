"""Template tags for posts. The cache of rendered cards is keyed by the record itself, so no card is ever stale."""

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

from accounts.names import make_public_path
from catalog.books import covers
from common.paths import make_path
from social.content.cleaning import MAX_CHARACTERS
from social.content.html import to_html
from social.models import new_key

register = template.Library()

# Cached cards of about 2 kB each. Rendering takes 1.1 ms. The key is the record, so a card cannot be out of date.
MAX_CARDS: Final = 4096
MAX_COMPOSERS: Final = 1024  # cached forms of 2 kB each
MAX_RECORD_BYTES: Final = 4000  # bytes; the few longer records are not cached, because their cards are large


class Record(Protocol):
    """The record of a post, with its JSON bytes."""

    raw: bytes


class Page(Protocol):
    """A page of posts, such as ``social.timelines.pages.PostPage``."""

    posts: Sequence[Any]
    after: int | None


class Card(NamedTuple):
    """A rendered post, without the parts that only its author sees."""

    id: int
    author: int
    html: SafeString


@register.simple_tag
def post_cards(page: Page, viewer: Any = None) -> list[SafeString]:
    """Return one card for each post of a page.

    ``viewer`` is a user or a user's id; None means a visitor without a login.
    """
    me, language = getattr(viewer, "pk", viewer), get_language() or ""
    return [_add_delete_link(get_card(post.raw, language), me) for post in page.posts]


@register.simple_tag
def post_card(post: Record, viewer: Any = None) -> SafeString:
    """Return the card of one post."""
    return _add_delete_link(get_card(post.raw, get_language() or ""), getattr(viewer, "pk", viewer))


@register.simple_tag(takes_context=True)
def post_key(context: Context) -> str:
    """Return a new key for a form, so that a repeated submission creates only one post.

    In a form that is rendered for the cache, return the placeholder of the key.
    """
    return str(context.get("key_placeholder") or new_key())


@register.simple_tag(takes_context=True)
def composer_about(context: Context, book: Mapping[str, Any], next_address: str) -> SafeString:
    """Return the empty form for a post about a book. ``next_address`` is the address to redirect to after posting."""
    before, between, after = _render_composer(book["id"], book["title"], next_address, get_language() or "")
    return mark_safe(before + str(context.get("csrf_token", "")) + between + new_key() + after)


@lru_cache(maxsize=MAX_COMPOSERS)
def _render_composer(book_id: int, title: str, next_address: str, language: str) -> tuple[str, str, str]:
    """Return the form in three parts, around the CSRF token and the key, which differ in each response."""
    shown = {"book": {"id": book_id, "title": title}, "next_address": next_address, "request": HttpRequest()}
    # Random, so that no book title can contain them.
    token, key = secrets.token_hex(32), secrets.token_hex(16)
    text = render_to_string("social/_composer.html", {**shown, "csrf_token": token, "key_placeholder": key})
    before, _, rest = text.partition(token)
    between, _, after = rest.partition(key)
    return before, between, after


@register.simple_tag
def max_characters() -> int:
    """Return the maximum number of characters in a post."""
    return MAX_CHARACTERS


def get_card(raw: bytes, language: str) -> Card:
    """Return the card of a record, identical for all viewers."""
    # A cached card would keep a long record in memory twice, as its key and in its text.
    return _render_cached_card(raw, language) if len(raw) <= MAX_RECORD_BYTES else _render_card(raw)


@lru_cache(maxsize=MAX_CARDS)
def _render_cached_card(raw: bytes, language: str) -> Card:
    return _render_card(raw)


def _render_card(raw: bytes) -> Card:
    """Render the card. It depends only on the record and the active language."""
    post = orjson.loads(raw)
    book = post["book"]
    shown = {
        "post": post,
        "text": to_html(post["text"], post["mentions"]),
        "time": datetime.fromisoformat(post["time"]),
        "author_url": make_public_path(post["user"]["name"]),
        "cover": covers.draw_cover(book["id"], book["title"], "") if book else "",
    }
    return Card(post["id"], post["user"]["id"], render_to_string("social/_post.html", shown))


def _add_delete_link(card: Card, me: int | None) -> SafeString:
    if card.author != me:
        return card.html
    link = '<p class="post-own"><a href="{}">{}</a></p>'
    return mark_safe(card.html + format_html(link, make_path("social:delete_post", card.id), gettext("Delete")))


def _clear_caches(**kwargs: Any) -> None:
    """Empty the caches when the development server notices a modified file."""
    _render_cached_card.cache_clear()
    _render_composer.cache_clear()


file_changed.connect(_clear_caches, dispatch_uid="social.posts")
