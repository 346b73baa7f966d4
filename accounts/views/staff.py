"""How staff get into the admin: by the site's own log-in page, which counts, limits and remembers."""

from django.contrib.admin.sites import site
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@require_safe
@never_cache
def log_in(request: HttpRequest) -> HttpResponse:
    """On to ``next`` for staff, to the log-in page for strangers. 403 for others: they would only come back here."""
    target = request.GET.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = reverse("admin:index")
    if site.has_permission(request):
        return HttpResponseRedirect(target)
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(target)
