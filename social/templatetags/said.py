"""Template tags for the newest posts on the pages of books and authors."""

from typing import Any, Final

from django import template
from django.http import HttpRequest
from django.template.context import Context

from catalog.results import BookRecord
from config.templatetags.site import visitor
from mirror.raw import RawRecord
from social.reading import PostPage
from social.selectors import posts_about, posts_about_books_by

register = template.Library()

FEW: Final = 5  # posts


@register.inclusion_tag("social/_said.html", takes_context=True)
def readers_said(context: Context, book: BookRecord) -> dict[str, Any]:
    """Show the newest posts about ``book``, and a form for logged-in readers."""
    request: HttpRequest = context["request"]
    me = visitor(context)
    found = posts_about(book["id"], me.pk if me else None)
    return {"request": request, "me": me, "book": book, "page": _first_few(found), "way_on": request.path}


@register.inclusion_tag("social/_said_of_author.html", takes_context=True)
def readers_said_of_author(context: Context, author: RawRecord) -> dict[str, Any]:
    """Show the newest posts about the books of ``author``."""
    me = visitor(context)
    found = posts_about_books_by(author["id"], me.pk if me else None)
    return {"request": context["request"], "me": me, "author": author, "page": _first_few(found)}


def _first_few(found: PostPage) -> PostPage:
    posts = found.posts[:FEW]
    return PostPage(posts, posts[-1]["id"] if len(found.posts) > FEW else found.after, found.newest)
