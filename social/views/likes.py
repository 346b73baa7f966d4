"""Liking posts: forms with one button each, which return to the page in ``next``."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.ratelimit import count_at_rates
from accounts.views import render_too_often
from common.ids import MAX_ID
from common.paths import make_path
from common.web import get_next_address, get_user_id, is_partial, json_response, redirect_to, require_login, wants_json
from social.queries.tallies import count_likes
from social.services.likes import NoSuchPost, like_post, unlike_post
from social.services.visibility import find_shown_post
from social.template_functions.posts import TOGGLE, describe_like


@require_POST
def like(request: HttpRequest, pk: int, *, is_liked: bool) -> HttpResponse:
    """Like the post, or remove the like. htmx gets the new button, JSON the new state and whether it changed."""
    if pk > MAX_ID:
        raise Http404
    page = make_path("social:post", pk)
    if not request.user.is_authenticated:
        return require_login(request, page)
    user_id, next_address = get_user_id(request), get_next_address(request, page)
    if is_liked and (seconds := count_at_rates("like", user_id, settings.LIKE_RATES)):
        return render_too_often(request, seconds, next_address)
    try:
        is_changed = like_post(user_id, pk) if is_liked else unlike_post(user_id, pk)
    except NoSuchPost as error:
        raise Http404 from error
    # Also a like of a post that the reader does not see any more is removed.
    if not is_liked and find_shown_post(user_id, pk) is None:
        raise Http404
    if wants_json(request):
        state = {"id": pk, "likes": count_likes([pk])[pk], "is_liked": is_liked}
        return json_response({"post": state, "is_changed": is_changed})
    if is_partial(request):
        author = User.objects.filter(posts=pk).values_list("username", flat=True).first()
        if author is None:
            raise Http404
        shown = describe_like(pk, author, count_likes([pk])[pk], is_liked)
        return render(request, TOGGLE, {**shown, "is_reader": True, "is_part": True, "next_address": next_address})
    # The anchor of the button, so that the page is not at its top again.
    return redirect_to(f"{next_address.partition('#')[0]}#like-{pk}")
