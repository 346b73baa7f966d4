"""What readers last said of a book, for the page of the book."""

from typing import Any, Final

from django import template
from django.http import HttpRequest
from django.template.context import Context

from catalog.results import BookRecord
from config.templatetags.site import visitor
from social.reading import PostPage
from social.selectors import posts_about

register = template.Library()

FEW: Final = 5  # posts


@register.inclusion_tag("social/_said.html", takes_context=True)
def readers_said(context: Context, book: BookRecord) -> dict[str, Any]:
    """The newest posts about ``book``, and a composer for who is logged in."""
    request: HttpRequest = context["request"]
    me = visitor(context)
    found = posts_about(book["id"], me.pk if me else None)
    posts = found.posts[:FEW]
    goes_on = posts[-1]["id"] if len(found.posts) > FEW else found.after
    page = PostPage(posts, goes_on, found.newest)
    return {"request": request, "me": me, "book": book, "page": page, "way_on": request.path}
