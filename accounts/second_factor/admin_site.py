"""The admin: unfold's site, which asks for a recent proof of identity."""

from django.http import HttpRequest
from unfold.sites import UnfoldAdminSite

from accounts.second_factor.recent import is_recent


class Site(UnfoldAdminSite):
    """Without a recent proof, redirects staff to ``admin:login``, which asks for one (``accounts.views.staff``)."""

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and is_recent(request)
