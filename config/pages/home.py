"""The front page: the same for all visitors without a login, and a reader's own for others."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from catalog.books import BookRows
from common.public_pages import public_page
from common.web import get_viewer_id
from config.pages.own import find_own_page
from shop.selectors.strips import find_strips
from shop.visitors import get_session_digest
from social.selectors import get_latest_posts

MAX_POSTS: Final = 6


@require_safe
@public_page()
def home(request: HttpRequest) -> HttpResponse:
    """Show a reader's own sections, if there are any, and to others a welcome, new books and the latest posts.

    The template ``home_own.html`` gets the sections as ``own``, an ``OwnPage``. ``strips`` are the
    books of the rows for all visitors, and ``rows`` fills them.
    """
    viewer = get_viewer_id(request)
    digest = get_session_digest(request)
    own = None if viewer is None else find_own_page(viewer, digest)
    if own is not None and own.has_sections:
        return render(request, "home_own.html", {"own": own, "rows": own.rows, "strips": own.strips})
    shown: dict[str, Any] = {
        "strips": find_strips(None, digest) if own is None else own.strips,
        "posts": get_latest_posts(viewer, MAX_POSTS),
        "is_new": own is not None,
        "rows": BookRows(),
    }
    return render(request, "home.html", shown)
