"""The admin: unfold's, for staff who have proved lately who they are."""

from django.http import HttpRequest
from unfold.sites import UnfoldAdminSite

from accounts.second_factor.recent import is_recent


class Site(UnfoldAdminSite):
    """Sends staff whose login is not recent to ``admin:login``, which asks them again (``accounts.views.staff``)."""

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and is_recent(request)
