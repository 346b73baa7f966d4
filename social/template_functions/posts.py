"""Posts. Cards are remembered under the record itself, so none is ever stale."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

import orjson
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from jinja2 import pass_context
from jinja2.runtime import Context

from accounts.names import make_public_path
from catalog.covers import show_cover
from common.form_parts import FIELD_PLACE
from common.paths import make_path
from common.rendered import remember_rendered
from common.template_functions import icon
from mirror.read import RawRecord
from social.content.cleaning import MAX_CHARACTERS
from social.content.html import to_html
from social.content.spoilers import mark_named_omissions, mark_omissions
from social.models import Post, new_key
from social.queries.records import PostRecord, quote_post
from social.reviews.markdown import render_markdown
from social.template_functions.people import avatar

QUOTE_CHARACTERS: Final = 110  # of the post that a reply answers
MAX_BYTES: Final = 8_000_000  # of remembered cards, and of remembered forms; each takes about 2 kB
TOGGLE: Final = "social/_toggle.html"
# Stands for the address of the page with a button. Readers do not know it, so no name contains it.
NEXT_PLACE = secrets.token_hex(16)


class Page(Protocol):
    """A page of posts, such as ``social.timelines.pages.PostPage``."""

    posts: Sequence[Any]
    after: int | None


class Card(NamedTuple):
    """A rendered post, without its likes and the parts that only its author sees. own: these parts."""

    id: int
    author: int
    head: SafeString
    body: SafeString
    own: SafeString

    @property
    def html(self) -> SafeString:
        """The card without the line that names the answered post."""
        return self.head + self.body


@pass_context
def post_cards(context: Context, page: Page, viewer: Any = None) -> list[SafeString]:
    """Return one card for each post of a page. Of successive replies to one post, only the first one quotes it.

    ``viewer`` is a user or a user's id; None means a visitor without a login.
    """
    me = getattr(viewer, "pk", viewer)
    cards, above = list[SafeString](), None
    for post in page.posts:
        answered = post["reply_to"] and post["reply_to"]["id"]
        line = _render_parent_line(post, is_repeated=answered == above)
        cards.append(_add_foot(context, post, me, parent_line=line))
        above = answered
    return cards


@pass_context
def post_card(context: Context, post: PostRecord, viewer: Any = None, review: RawRecord | None = None) -> SafeString:
    """Return the card of one post. review: that of its review, to show the whole text."""
    return _add_foot(context, post, getattr(viewer, "pk", viewer), review)


def bare_post(post: PostRecord) -> SafeString:
    """Return the card of one post without buttons."""
    return get_card(post.raw, post.tally.stars).html


@pass_context
def post_key(context: Context) -> str:
    """Return a new key for a form, so that a repeated submission creates only one post.

    In a form that is rendered for the cache, return the placeholder of the key.
    """
    return str(context.get("key_placeholder") or new_key())


@pass_context
def composer_about(context: Context, book: Mapping[str, Any], next_address: str) -> SafeString:
    """Return the empty form for a post about a book. ``next_address`` is the address to redirect to after posting."""
    before, between, after = _render_composer(book["id"], book["title"], next_address)
    return mark_safe(before + str(context.get("csrf_input", "")) + between + new_key() + after)


@remember_rendered(MAX_BYTES, measure=lambda parts: sum(map(len, parts)))
def _render_composer(book_id: int, title: str, next_address: str) -> tuple[str, str, str]:
    """Return the form in three parts, around the field of the token and the key, which differ in each response."""
    shown = {"book": {"id": book_id, "title": title}, "next_address": next_address, "request": HttpRequest()}
    key = secrets.token_hex(16)  # random, so that no book title can contain it
    text = render_to_string("social/_composer.html", {**shown, "csrf_input": FIELD_PLACE, "key_placeholder": key})
    before, _, rest = text.partition(FIELD_PLACE)
    between, _, after = rest.partition(key)
    return before, between, after


def former_text(post: Mapping[str, Any], text: str) -> SafeString:
    """Return a former text of a post as HTML. It mentions no one any more."""
    if post["kind"] == Post.Kind.REVIEW:
        return render_markdown(text)
    return format_html('<p class="post-text" dir="auto">{}</p>', to_html(text))


def describe_like(post_id: int, name: str, likes: int, is_liked: bool) -> dict[str, Any]:
    """Return what the template ``TOGGLE`` needs for the button with a post's likes. name: of the author."""
    label = gettext("Like the post by %(name)s") % {"name": name}
    shown = {
        "id": post_id,
        "verb": "like",
        "undo": "unlike",
        "icon_name": "heart",
        "label": label,
        "word": gettext("Like"),
    }
    return shown | {"count": likes, "is_on": is_liked}


def max_characters() -> int:
    """Return the maximum number of characters in a post."""
    return MAX_CHARACTERS


@remember_rendered(MAX_BYTES, measure=lambda card: len(card.html))
def get_card(raw: bytes, stars: int | None = None, review: bytes = b"") -> Card:
    """Return the card of a record, identical for all viewers. stars: in halves. review: the record of its review."""
    post = orjson.loads(raw)
    whole = orjson.loads(review) if review else None
    book = post["book"]
    text = to_html(post["text"], post["mentions"])
    shown = {
        "post": post,
        "text": mark_omissions(text) if post["kind"] == Post.Kind.REVIEW else text,
        "stars": stars,
        "whole": whole and render_markdown(whole["text"], tuple(post["mentions"])),
        "language": whole and whole["language"],
        "time": datetime.fromisoformat(post["time"]),
        "avatar": avatar(post["user"]["id"], post["user"]["name"], post["user"]["avatar"]),
        "author_url": make_public_path(post["user"]["name"]),
        "cover": show_cover(book) if book else "",
    }
    head, body = render_to_string("social/_post_head.html", shown), render_to_string("social/_post.html", shown)
    return Card(post["id"], post["user"]["id"], head, body, _make_own_links(post))


def _add_foot(
    context: Context, post: PostRecord, me: int | None, review: RawRecord | None = None, parent_line: str = ""
) -> SafeString:
    tally = post.tally
    card = get_card(post.raw, tally.stars, review.raw if review else b"")
    replies = _render_replies(card.id, tally.replies)
    button = _render_like(card.id, post["user"]["name"], tally.likes, tally.is_liked, me is not None)
    if me is not None:
        next_address = context.get("next_address") or context["request"].get_full_path()
        button = button.replace(FIELD_PLACE, str(context["csrf_input"])).replace(NEXT_PLACE, escape(next_address))
    links = card.own if card.author == me else _render_report_link(card.id, post["user"]["name"])
    return mark_safe(f'{card.head}{parent_line}{card.body}<div class="post-foot">{replies}{button}{links}</div>')


def _render_parent_line(post: PostRecord, *, is_repeated: bool) -> SafeString:
    """Return the line of a reply: the answered reader, and the beginning of that post. Nothing for other posts.

    is_repeated: whether the card above has this line already; then only screen readers get a name.
    """
    if not post["reply_to"]:
        return SafeString()
    return _render_answered(post["reply_to"]["id"], post.parent.raw if post.parent else b"", is_repeated)


@remember_rendered(MAX_BYTES)
def _render_answered(post_id: int, raw: bytes, is_repeated: bool) -> SafeString:
    """Return the line of a reply. raw: the record of the post that it answers, empty if it is not visible."""
    shown: dict[str, Any] = {"id": post_id, "name": "", "quote": "", "book": None, "is_repeated": is_repeated}
    if raw:
        parent = PostRecord(raw)
        shown |= {"name": parent["user"]["name"], "quote": mark_named_omissions(quote_post(parent, QUOTE_CHARACTERS))}
        shown["book"] = parent["book"]
    return render_to_string("social/_answered.html", shown)


@remember_rendered(MAX_BYTES)
def _render_replies(post_id: int, replies: int) -> str:
    """Return the link to a post's replies, with their number."""
    return render_to_string("social/_replies.html", {"id": post_id, "replies": replies})


@remember_rendered(MAX_BYTES)
def _render_like(post_id: int, name: str, likes: int, is_liked: bool, is_reader: bool) -> str:
    """Return the button with a post's likes, with the places of the token and the next address."""
    shown = describe_like(post_id, name, likes, is_liked)
    shown |= {"is_reader": is_reader, "csrf_input": FIELD_PLACE, "next_address": NEXT_PLACE}
    return render_to_string(TOGGLE, shown)


@remember_rendered(MAX_BYTES)
def _render_report_link(post_id: int, name: str) -> SafeString:
    """Return the link to the form that reports a post."""
    label = gettext("Report the post by %(name)s") % {"name": name}
    address = make_path("moderation:report", "post", post_id)
    link = (
        '<p class="post-own"><a class="like" href="{}" rel="nofollow" title="{}">{}'
        '<span class="sr-only">{}</span></a></p>'
    )
    return format_html(link, address, gettext("Report"), icon("flag"), label)


def _make_own_links(post: Mapping[str, Any]) -> SafeString:
    links = [(make_path("social:delete_post", post["id"]), gettext("Delete"), icon("bin"))]
    if post["kind"] == Post.Kind.POST:
        links.insert(0, (make_path("social:edit_post", post["id"]), gettext("Edit"), icon("pencil")))
    elif post["kind"] == Post.Kind.REVIEW and post["book"]:
        links.insert(0, (make_path("reviews:write", post["book"]["id"]), gettext("Edit"), icon("pencil")))
    link = '<a class="like" href="{0}" title="{1}">{2}<span class="sr-only">{1}</span></a>'
    return format_html('<p class="post-own">{}</p>', format_html_join(" ", link, links))
