"""The newest posts on the pages of books and authors."""

from typing import Final

from django.http import HttpRequest
from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.listing import BookRecord
from common.template_functions import render_part, visitor
from mirror.read import RawRecord
from social.selectors import get_posts_about, get_posts_about_books_by
from social.timelines.pages import PostPage

MAX_POSTS: Final = 5  # posts


@pass_context
def posts_about_book(context: Context, book: BookRecord) -> SafeString:
    """Show the newest posts about ``book``, and a form for logged-in readers."""
    request: HttpRequest = context["request"]
    me = visitor(context)
    found = get_posts_about(book["id"], me.pk if me else None)
    shown = {"me": me, "book": book, "page": _cut_page(found), "next_address": request.path}
    return render_part(context, "social/_posts_about_book.html", shown)


@pass_context
def posts_about_books_by(context: Context, author: RawRecord) -> SafeString:
    """Show the newest posts about the books of ``author``."""
    me = visitor(context)
    found = get_posts_about_books_by(author["id"], me.pk if me else None)
    shown = {"me": me, "author": author, "page": _cut_page(found)}
    return render_part(context, "social/_posts_about_books_by.html", shown)


def _cut_page(found: PostPage) -> PostPage:
    posts = found.posts[:MAX_POSTS]
    return PostPage(posts, posts[-1]["id"] if len(found.posts) > MAX_POSTS else found.after, found.newest)
