"""The login view of the admin, which uses the site's own login page with its limits and counts."""

from django.contrib.admin.sites import site
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.second_factor import recent
from common.web import get_next_address, redirect_to, require_login


@require_safe
@never_cache
def log_in(request: HttpRequest) -> HttpResponse:
    """Redirect staff to ``next`` and anonymous visitors to the login page. Other users get 403, to avoid a loop.

    Staff without a recent proof of identity are redirected to the page that asks for one.
    """
    target = get_next_address(request, reverse("admin:index"), request.GET.get("next", ""))
    if site.has_permission(request):
        return redirect_to(target)
    if request.user.is_authenticated and request.user.is_staff:
        return recent.redirect_to_confirm(target)
    if request.user.is_authenticated:
        raise PermissionDenied
    return require_login(request, target)
