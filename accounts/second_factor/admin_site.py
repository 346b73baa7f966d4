"""The admin site, which requires a recent proof of identity."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from unfold.sites import UnfoldAdminSite

from accounts.second_factor.recent import has_recent_proof
from common.web import keep_form

View = Callable[..., HttpResponse]


class Site(UnfoldAdminSite):
    """Unfold's site. Without a recent proof it redirects staff to ``admin:login`` (``accounts.views.staff``)."""

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and has_recent_proof(request)

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Wrap a view as Django does, and keep a form that is submitted too late."""
        guarded = super().admin_view(view, cacheable)

        @wraps(guarded)
        def keep_form_first(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not self.has_permission(request) and (kept_address := keep_form(request)):
                response: HttpResponse = redirect_to_login(kept_address, reverse("admin:login"))
                return response
            timezone.deactivate()  # staff compare figures, so the days of all of them are those of the site
            return guarded(request, *args, **kwargs)

        return keep_form_first

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """Return the related rows that contain a term. Raises SuspiciousOperation for a null character."""
        if "\0" in request.GET.get("term", ""):
            raise SuspiciousOperation("A null character in a search")
        response: HttpResponse = super().autocomplete_view(request)
        return response
