"""The admin site, which requires a recent proof of identity."""

from django.http import HttpRequest
from unfold.sites import UnfoldAdminSite

from accounts.second_factor.recent import has_recent_proof


class Site(UnfoldAdminSite):
    """Unfold's site. Without a recent proof it redirects staff to ``admin:login`` (``accounts.views.staff``)."""

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and has_recent_proof(request)
