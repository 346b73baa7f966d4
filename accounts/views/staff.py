"""How staff get into the admin: by the site's own log-in page, which counts, limits and remembers."""

from django.contrib.admin.sites import site
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.second_factor import recent
from config.redirects import next_address, redirect_to


@require_safe
@never_cache
def log_in(request: HttpRequest) -> HttpResponse:
    """On to ``next`` for staff, to the log-in page for strangers. 403 for others: they would only come back here.

    Staff whose login is not recent confirm it first.
    """
    target = next_address(request, reverse("admin:index"), request.GET.get("next", ""))
    if site.has_permission(request):
        return redirect_to(target)
    if request.user.is_authenticated and request.user.is_staff:
        return recent.ask_again(target)
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(target)
