"""The front page."""

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.selectors import read_last_logins
from mirror.read.foreseen import Foreseen
from shop.visitors import get_session_digest
from social.selectors import get_latest_posts

MAX_POSTS: Final = 6
HOME_READS: Final = Foreseen()


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show a welcome, a search by tags, links into the catalogue, the latest posts, and the latest logins."""
    viewer = request.user.pk if request.user.is_authenticated else None
    with HOME_READS.ahead(get_session_digest(request)):
        shown = {"posts": get_latest_posts(viewer, MAX_POSTS), "last_logins": read_last_logins(me=viewer)}
        return render(request, "home.html", shown)
