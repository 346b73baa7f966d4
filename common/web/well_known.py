"""Well-known addresses for programs (RFC 8615)."""

from datetime import UTC, timedelta
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_safe

from common import clock
from common.web.redirects import redirect_to, redirect_to_view

DISALLOWED_PATHS: Final = (
    "/accounts/", "/admin/", "/books/?", "/decisions/", "/home/", "/look/", "/loginlog/", "/mentions/", "/people/",
    "/report/", "/reports/", "/search/", "/shop/cart/", "/shop/checkout/", "/shop/orders/",
)  # fmt: skip
SECURITY_TXT_VALIDITY: Final = timedelta(days=180)  # RFC 9116 recommends less than a year


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Return the contact for reports of security problems (RFC 9116)."""
    expires = (clock.now() + SECURITY_TXT_VALIDITY).astimezone(UTC).strftime("%Y-%m-%dT00:00:00Z")
    lines = [
        f"Contact: {settings.SECURITY_CONTACT}",
        f"Expires: {expires}",
        f"Canonical: {settings.SITE_URL}{reverse('security_txt')}",
        f"Preferred-Languages: {', '.join(code for code, _name in settings.LANGUAGES)}",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


@require_safe
def robots_txt(request: HttpRequest) -> HttpResponse:
    """Exclude pages of one person, searches, and the countless combinations of filters from crawling (RFC 9309)."""
    lines = ["User-agent: *", *(f"Disallow: {start}" for start in DISALLOWED_PATHS)]
    lines += ["", f"Sitemap: {settings.SITE_URL}{reverse('sitemap')}"]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect to the icon. Browsers ask for this address if a page, such as a JSON answer, names no icon."""
    return redirect_to(static("favicon.ico"))


@require_safe
def change_password(request: HttpRequest) -> HttpResponse:
    """Redirect to the change of password. Password managers link to this address after a leak."""
    return redirect_to_view("accounts:password_change")
