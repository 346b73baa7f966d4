"""Protection against forged requests, which outdated pages pass."""

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware, RejectRequest
from django.utils.translation import gettext as _

from common.web import keep_form, redirect_window
from common.web.origin import is_same_origin
from common.web.readers import has_changed

# They leave nothing but a session, so a browser that blocks cookies would be told of a success that it does not have.
NEEDING_COOKIES: Final = ("accounts:login", "accounts:register", "shop:cart")


class CsrfMiddleware(CsrfViewMiddleware):
    """Django's middleware, which also accepts a wrong token if the browser states that this site sent the request.

    A login renews the token, so the pages in other tabs have an outdated one. The statement of the browser is as good
    a proof: no page of another origin can forge it. Requests without it, such as those of scripts, need the token.
    If another reader was logged in before, the page may be that reader's, so the present one has to confirm the form.
    Each page with a form sets a cookie. Without any, forms that only change the session are refused.
    """

    def process_view(self, request: HttpRequest, *args: Any) -> Any:
        rejection = super().process_view(request, *args)
        if rejection is not None or not getattr(request, "has_outdated_token", False) or not has_changed(request):
            return rejection
        if address := keep_form(request, is_sure=False):
            messages.warning(request, _("Someone else was logged in here when this page was loaded."))
            return redirect_window(request, address)
        return None

    def _check_token(self, request: HttpRequest) -> None:
        try:
            super()._check_token(request)  # type: ignore[misc]
        except RejectRequest:
            if not is_same_origin(request) or _needs_cookies(request):
                raise
            request.has_outdated_token = True  # type: ignore[attr-defined]


def _needs_cookies(request: HttpRequest) -> bool:
    match = request.resolver_match
    return not request.COOKIES and match is not None and match.view_name in NEEDING_COOKIES
