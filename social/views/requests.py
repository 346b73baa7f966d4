"""The page on which readers make their account private, and decide about follow requests."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.models import User
from common.web import get_user_id, personal_page, redirect_to_view
from social.relations.lists import list_requests
from social.services.people import set_private
from social.timelines.pages import parse_cursor
from social.views.people import build_page_address, list_json, respond


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def requests(request: HttpRequest) -> HttpResponse:
    """GET: list the follow requests, newest first (``?after=``). POST ``private`` ("1", "0"): set the privacy."""
    user_id = get_user_id(request)
    if request.method == "POST":
        set_private(user_id, is_private=request.POST.get("private") == "1")
        messages.success(request, _("Saved."))
        return redirect_to_view("social:requests")
    page = list_requests(user_id, parse_cursor(request.GET.get("after")))
    older = build_page_address(request.path, page.after)
    is_private = User.objects.filter(pk=user_id, is_private=True).exists()
    context = {"people": page.people, "next": older, "is_private": is_private}
    return respond(request, "social/requests.html", context, {"is_private": is_private, **list_json(page, older)})
