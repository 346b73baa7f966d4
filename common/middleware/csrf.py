"""Protection against forged requests, which outdated pages pass."""

from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware, RejectRequest

from common.web.origin import is_same_origin


class CsrfMiddleware(CsrfViewMiddleware):
    """Django's middleware, which also accepts a wrong token if the browser states that this site sent the request.

    A login renews the token, so the pages in other tabs have an outdated one. The statement of the browser is as good
    a proof: no page of another origin can forge it. Requests without it, such as those of scripts, need the token.
    """

    def _check_token(self, request: HttpRequest) -> None:
        try:
            super()._check_token(request)  # type: ignore[misc]
        except RejectRequest:
            if not is_same_origin(request):
                raise
