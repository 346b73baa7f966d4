"""The page of one post with its thread, in HTML and (``Accept: application/json``) in JSON."""

from typing import Any

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from common.paths import make_path
from common.public_pages import public_page
from common.web import get_viewer_id, json_response, wants_json
from social.selectors import get_thread
from social.timelines.pages import parse_cursor
from social.timelines.threads import Cursor, Thread


@require_safe
@public_page("before", "after")
def one_post(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one post, the posts above it, and the replies to it (``?after=``, ``?before=``).

    The template gets ``thread``, a Thread. A post that is not visible is a placeholder if it has replies, and otherwise
    a 404.
    """
    before, after = (parse_cursor(request.GET.get(name)) for name in ("before", "after"))
    found = get_thread(pk, get_viewer_id(request), Cursor(before or after or 0, is_before=bool(before)))
    if found is None:
        raise Http404
    address = make_path("social:post", pk)
    if wants_json(request):
        response = json_response(_build_json(pk, found, address))
    else:
        shown = {"thread": found, "post": found.post, "address": address}
        response = render(request, "social/one_post.html", shown)
    patch_vary_headers(response, ["Accept"])
    return response


def _build_json(pk: int, thread: Thread, address: str) -> dict[str, Any]:
    """Return a post with its thread. A missing post is its id alone."""
    review = {"review": orjson.Fragment(thread.review.raw)} if thread.review else {}
    return {
        **(thread.post.json if thread.post else {"id": pk}),
        **review,
        "above": [post.json if post else {"id": missing} for missing, post in thread.above],
        "results": [branch.json for branch in thread.branches],
        "previous": f"{address}?before={thread.before}" if thread.before else None,
        "next": f"{address}?after={thread.after}" if thread.after else None,
    }
