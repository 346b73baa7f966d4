"""Show visitors their own cart even if Redis was away when they changed it (``shop.carts.without_redis``)."""

from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from shop.carts import without_redis

COOKIE: Final = f"{settings.COOKIE_PREFIX}cart_behind"
COOKIE_SECONDS: Final = 3600  # or until Redis has received the cart


class ReadOwnCartMiddleware:
    """The middleware. A cookie makes the visitor's requests read SQL as well until Redis has received the cart."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        was_behind = COOKIE in request.COOKIES
        with without_redis.track_request(was_behind) as state:
            response = self.get_response(request)
        if state.is_behind:
            response.set_cookie(
                COOKIE, "1", COOKIE_SECONDS, secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax"
            )
        elif was_behind and state.has_caught_up:
            response.delete_cookie(COOKIE, samesite="Lax")
        return response
