"""Following authors: a form with one button, and the page of the authors that a reader follows."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from accounts.ratelimit import count_at_rates
from accounts.views import render_too_often
from catalog.following.selectors import list_followed_authors
from catalog.following.services import follow_author, unfollow_author
from common.ids import MAX_ID
from common.paths import make_path
from common.refusals import Refused
from common.web import (
    get_next_address,
    get_user_id,
    json_error,
    json_response,
    personal_page,
    redirect_to,
    require_login,
    wants_json,
)


@require_POST
def follow(request: HttpRequest, pk: int, *, is_followed: bool) -> HttpResponse:
    """Follow the author, or stop following. JSON gets the new state and whether it changed."""
    address = make_path("author", min(pk, MAX_ID))
    if not request.user.is_authenticated:
        return require_login(request, address)
    user_id, next_address = get_user_id(request), get_next_address(request, address)
    if is_followed and (seconds := count_at_rates("follow_author", user_id, settings.AUTHOR_FOLLOW_RATES)):
        return render_too_often(request, seconds, next_address)
    try:
        service = follow_author if is_followed else unfollow_author
        is_changed = service(user_id, min(pk, MAX_ID))
    except Refused as error:
        if wants_json(request):
            return json_error(str(error), 409)
        messages.error(request, str(error))
        return redirect_to(next_address)
    if wants_json(request):
        return json_response({"author": {"id": pk, "is_followed": is_followed}, "is_changed": is_changed})
    # The anchor of the button, so that the page is not at its top again.
    return redirect_to(f"{next_address.partition('#')[0]}#follow-{pk}")


@require_safe
@personal_page
def followed_authors(request: HttpRequest) -> HttpResponse:
    """Show the authors that the reader follows."""
    authors = list_followed_authors(get_user_id(request))
    if wants_json(request):
        return json_response({"authors": [{"id": author["id"], "name": author["name"]} for author in authors]})
    return render(request, "following/authors.html", {"authors": authors})
