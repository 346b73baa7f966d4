"""Template tags for the newest posts on the pages of books and authors."""

from typing import Any, Final

from django import template
from django.http import HttpRequest
from django.template.context import Context

from catalog.listing import BookRecord
from common.templatetags.site import visitor
from mirror.read import RawRecord
from social.selectors import get_posts_about, get_posts_about_books_by
from social.timelines.pages import PostPage

register = template.Library()

MAX_POSTS: Final = 5  # posts


@register.inclusion_tag("social/_posts_about_book.html", takes_context=True)
def posts_about_book(context: Context, book: BookRecord) -> dict[str, Any]:
    """Show the newest posts about ``book``, and a form for logged-in readers."""
    request: HttpRequest = context["request"]
    me = visitor(context)
    found = get_posts_about(book["id"], me.pk if me else None)
    return {"request": request, "me": me, "book": book, "page": _cut_page(found), "next_address": request.path}


@register.inclusion_tag("social/_posts_about_books_by.html", takes_context=True)
def posts_about_books_by(context: Context, author: RawRecord) -> dict[str, Any]:
    """Show the newest posts about the books of ``author``."""
    me = visitor(context)
    found = get_posts_about_books_by(author["id"], me.pk if me else None)
    return {"request": context["request"], "me": me, "author": author, "page": _cut_page(found)}


def _cut_page(found: PostPage) -> PostPage:
    posts = found.posts[:MAX_POSTS]
    return PostPage(posts, posts[-1]["id"] if len(found.posts) > MAX_POSTS else found.after, found.newest)
