"""Atom feeds of the posts of a reader, about a book or an author's books, and of public shelves.

Programs that read feeds send no cookies, and get what a visitor without a login sees.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import Any, Final, NamedTuple

from django.contrib.syndication.views import Feed
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.names import make_public_path
from catalog.selectors import get_author, get_book
from catalog.shelves.forms import get_today
from catalog.shelves.models import Privacy, Shelf
from catalog.shelves.records import write_stars
from catalog.shelves.selectors import ShelvedBook, find_shelf_page, get_shelf_summary
from common import clock
from common.paths import make_absolute, make_path
from common.public_pages import public_page
from common.text import shorten_text
from common.web import get_viewer_id
from social.content.html import to_html
from social.content.spoilers import name_omissions
from social.models import Post
from social.queries.records import PostRecord
from social.relations.profiles import Profile, get_profile_by_name
from social.reviews.selectors import Order, get_reviews
from social.selectors import get_posts_about, get_posts_about_books_by, get_posts_by
from social.timelines.pages import PAGE_SIZE
from social.views.lists import redirect_merged_author
from social.views.people import redirect_to_spelling

# Characters that XML 1.0 cannot contain, and carriage returns.
FORBIDDEN: Final = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MAX_TITLE: Final = 80  # characters of a post without a book that make its title


class _AtomFeed(Atom1Feed):
    """Atom, with the address of the site as the base of the links in texts, and without forbidden characters."""

    def __init__(self, title: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(_clean(title), *args, **kwargs)

    def add_item(self, title: str, link: str, description: str, *args: Any, **kwargs: Any) -> None:
        super().add_item(_clean(title), link, _clean(description), *args, **kwargs)

    def latest_post_date(self) -> datetime:
        # Django's is the present time for a feed without entries, which would then differ from one request to the next.
        return super().latest_post_date() if self.items else datetime.combine(clock.now().date(), time(), UTC)

    def root_attributes(self) -> dict[str, Any]:
        return {**super().root_attributes(), "xml:base": make_absolute(reverse("home"))}


class Channel(NamedTuple):
    """A feed. path: of the page that it follows. entries: posts, or books on a shelf."""

    title: str
    path: str
    feed_path: str
    entries: Sequence[Any]


class _ChannelFeed(Feed):
    """The parts that all feeds share."""

    feed_type = _AtomFeed

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Channel:
        return self.channel

    def title(self, channel: Channel) -> str:
        return channel.title

    def link(self, channel: Channel) -> str:
        return make_absolute(channel.path)

    def feed_url(self, channel: Channel) -> str:
        return make_absolute(channel.feed_path)

    def items(self, channel: Channel) -> Sequence[Any]:
        return channel.entries


class _PostFeed(_ChannelFeed):
    """A feed of posts. A text with a content note is left out, like on a page where nobody has opened it."""

    def item_title(self, item: PostRecord) -> str:
        if item["book"] and item["kind"] in (Post.Kind.REVIEW, Post.Kind.RATING):
            return item.page_title
        if item["book"]:
            return _("%(name)s about “%(title)s”") % {"name": item["user"]["name"], "title": item["book"]["title"]}
        return shorten_text(" ".join((item["note"] or item["text"]).split()), MAX_TITLE)

    def item_description(self, item: PostRecord) -> str:
        if item["note"]:
            return _("Content note: %(note)s") % {"note": item["note"]}
        text = to_html(item["text"], item["mentions"])
        lines = [name_omissions(text) if item["kind"] == Post.Kind.REVIEW else text]
        stars = item.tally.stars
        if stars is not None:
            lines.insert(0, escape(_write_rating(stars)))
        return "<br>".join(filter(None, lines))

    def item_link(self, item: PostRecord) -> str:
        return make_absolute(make_path("social:post", item["id"]))

    def item_author_name(self, item: PostRecord) -> str:
        return str(item["user"]["name"])

    def item_author_link(self, item: PostRecord) -> str:
        return make_absolute(make_public_path(item["user"]["name"]))

    def item_pubdate(self, item: PostRecord) -> datetime:
        return datetime.fromisoformat(item["time"])

    def item_updateddate(self, item: PostRecord) -> datetime:
        return datetime.fromisoformat(item["edited"] or item["time"])


class _ShelfFeed(_ChannelFeed):
    """A feed of the books on a shelf."""

    def item_title(self, item: ShelvedBook) -> str:
        return str(item.book["title"])

    def item_description(self, item: ShelvedBook) -> str:
        stars = item.fields["stars"]
        lines = [", ".join(item.book["authors"])]
        if stars is not None:
            lines.append(_write_rating(stars))
        return "\n".join(filter(None, lines))

    def item_link(self, item: ShelvedBook) -> str:
        return make_absolute(make_path("catalog:book", item.book["id"]))

    def item_guid(self, item: ShelvedBook) -> str:
        # Not the book alone: feed readers would take it for the same entry on every shelf.
        return f"{make_absolute(self.channel.path)}#{item.book['id']}"

    def item_pubdate(self, item: ShelvedBook) -> datetime:
        return datetime.combine(item.dates["shelved_on"] or get_today(), time(), UTC)

    def item_updateddate(self, item: ShelvedBook) -> datetime:
        days = [day for day in item.dates.values() if day]
        return datetime.combine(max(days), time(), UTC)


@require_safe
@public_page()
def person_feed(request: HttpRequest, name: str) -> HttpResponse:
    """Return the feed of a reader's posts."""
    found = _find_profile(request, name)
    if found is None or found.name != name:
        return redirect_to_spelling(request, found, _find_rest("social:person_feed", name))
    posts = get_posts_by(found.id, get_viewer_id(request)).posts
    title = _("Posts by %(name)s") % {"name": found.name}
    return _PostFeed(Channel(title, found.url, make_path("social:person_feed", found.name), posts))(request)


@require_safe
@public_page()
def shelf_feed(request: HttpRequest, name: str, shelf: str) -> HttpResponse:
    """Return the feed of one of a reader's public shelves, latest date first."""
    found = _find_profile(request, name)
    if found is None or found.name != name:
        return redirect_to_spelling(request, found, _find_rest("social:shelf_feed", name, shelf))
    # Also for the owner: the address of a feed may be given to any program.
    summary = get_shelf_summary(found.id, get_today().year)
    if found.is_private or shelf not in summary.shown_to({Privacy.PUBLIC}):
        raise Http404
    kind = Shelf(shelf)
    books = find_shelf_page(found.id, kind).entries
    title = _("%(name)s: %(shelf)s") % {"name": found.name, "shelf": kind.label}
    page = f"{make_path('social:shelves', found.name)}?shelf={shelf}"
    return _ShelfFeed(Channel(title, page, make_path("social:shelf_feed", found.name, shelf), books))(request)


@require_safe
@public_page()
def book_feed(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the feed of the newest posts about a book and reviews of it."""
    book, viewer = get_book(pk), get_viewer_id(request)
    if book is None:
        raise Http404
    reviews = get_reviews(pk, viewer, Order.NEWEST).page.posts
    # By their ids, which are in the order of time.
    found = [*get_posts_about(pk, viewer).posts, *reviews]
    posts = sorted(found, key=lambda post: post["id"], reverse=True)[:PAGE_SIZE]
    title = _("Posts about “%(title)s”") % {"title": book["title"]}
    path, feed_path = make_path("social:book_posts", pk), make_path("social:book_feed", pk)
    return _PostFeed(Channel(title, path, feed_path, posts))(request)


@require_safe
@public_page()
def author_feed(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the feed of the posts about an author's books."""
    author = get_author(pk)
    if author is None:
        return redirect_merged_author("social:author_feed", pk)
    posts = get_posts_about_books_by(pk, get_viewer_id(request)).posts
    title = _("Posts about books by %(name)s") % {"name": author["name"]}
    path, feed_path = make_path("social:author_posts", pk), make_path("social:author_feed", pk)
    return _PostFeed(Channel(title, path, feed_path, posts))(request)


def _write_rating(stars: int) -> str:
    return _("Rating: %(stars)s out of 5") % {"stars": write_stars(stars)}


def _clean(text: str) -> str:
    return FORBIDDEN.sub("", text)


def _find_rest(view: str, name: str, *arguments: str) -> str:
    """Return the end of a path below the page of a reader."""
    return make_path(view, name, *arguments).removeprefix(make_path("social:person", name))


def _find_profile(request: HttpRequest, name: str) -> Profile | None:
    """Return the profile, None also if the visitor has blocked the reader or is not approved."""
    found = get_profile_by_name(name, get_viewer_id(request))
    return None if found is None or found.is_blocked or found.is_locked else found
