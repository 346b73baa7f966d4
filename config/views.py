"""The front page."""

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.selectors import last_logins
from mirror.foreseen import Foreseen
from shop.visitors import digest_of
from social.selectors import latest_posts

POSTS: Final = 6
FRONT: Final = Foreseen()


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show a welcome, a search by tags, links into the catalogue, the latest posts, and the latest logins."""
    viewer = request.user.pk if request.user.is_authenticated else None
    with FRONT.ahead(digest_of(request)):
        shown = {"posts": latest_posts(viewer, POSTS), "last_logins": last_logins(me=viewer)}
        return render(request, "home.html", shown)
