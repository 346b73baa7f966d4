"""Posts with a hashtag, about a book or an author's books, and mentions.

Pages are HTML or, with ``Accept: application/json``, JSON.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from catalog.selectors import find_merged_author, get_author, get_book
from common.paths import make_path
from common.public_pages import public_page
from common.web import (
    get_user_id,
    get_viewer_id,
    is_partial,
    json_response,
    personal_page,
    redirect_to,
    wants_json,
)
from social.content.tokens import fold_hashtag
from social.selectors import get_mentions_of, get_posts_about, get_posts_about_books_by, get_posts_tagged
from social.timelines.pages import PostPage, parse_cursor
from social.views.timelines import build_page_json


@require_safe
@public_page("after")
def hashtag_posts(request: HttpRequest, hashtag: str) -> HttpResponse:
    """Show the posts with a hashtag in any spelling (``?after=``)."""
    name = fold_hashtag(hashtag)
    if name is None:
        raise Http404
    page = get_posts_tagged(name, get_viewer_id(request), parse_cursor(request.GET.get("after")))
    return _render_page(request, page, "social/tagged.html", make_path("social:hashtag", name), {"hashtag": name})


@require_safe
@public_page("after")
def book_posts(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the posts about a book (``?after=``)."""
    book = get_book(pk)
    if book is None:
        raise Http404
    page = get_posts_about(pk, get_viewer_id(request), parse_cursor(request.GET.get("after")))
    return _render_page(request, page, "social/about.html", make_path("social:book_posts", pk), {"book": book})


@require_safe
@public_page("after")
def author_posts(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the posts about an author's books (``?after=``)."""
    author = get_author(pk)
    if author is None:
        return redirect_merged_author("social:author_posts", pk)
    page = get_posts_about_books_by(pk, get_viewer_id(request), parse_cursor(request.GET.get("after")))
    path = make_path("social:author_posts", pk)
    return _render_page(request, page, "social/about_author.html", path, {"author": author})


def redirect_merged_author(view: str, pk: int) -> HttpResponse:
    """Redirect to the same page of the author into which another one was merged. Raises Http404 if there is none."""
    into = find_merged_author(pk)
    if into is None:
        raise Http404
    return redirect_to(make_path(view, into), status=301)


@require_safe
@personal_page
def mentions(request: HttpRequest) -> HttpResponse:
    """Show the posts that mention the logged-in reader (``?after=``)."""
    page = get_mentions_of(get_user_id(request), parse_cursor(request.GET.get("after")))
    return _render_page(request, page, "social/mentions.html", make_path("social:mentions"), {})


def _render_page(request: HttpRequest, page: PostPage, template: str, path: str, more: dict[str, Any]) -> HttpResponse:
    """Render a page of posts. The template gets ``page``, a ``PostPage``, and ``is_first``."""
    if wants_json(request):
        response = json_response(build_page_json(page, path))
    else:
        is_first = "after" not in request.GET
        shown = {"page": page, "older": path, "is_first": is_first, **more}
        part = not is_first and is_partial(request)
        response = render(request, "social/_posts.html" if part else template, shown)
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response
