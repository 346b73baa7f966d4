"""The static pages behind the links of the footer, and the sitemap.

A new static page needs its name in ``NAMES``, a template in ``common/templates/pages/`` and a link in
``common/templates/partials/foot.html``. The sitemap lists all of them, beside those of the apps.
"""

from collections.abc import Mapping
from typing import Final

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from accounts.audit.log import RETENTION
from catalog.sitemaps import AuthorSitemap, BookSitemap, SiteSitemap
from common.public_pages import public_page
from shop.seller import get_seller
from social.content import MAX_CHARACTERS

NAMES: Final = (
    "about",
    "help",
    "privacy",
    "terms",
    "imprint",
    "returns",
)  # each is the address, the view's name and the template
DAY_SECONDS: Final = 86_400


@require_safe
@public_page()
def page(request: HttpRequest, name: str) -> HttpResponse:
    """Render the page with this name, with the limits and retention periods of the settings."""
    context = {
        "appeal_days": settings.APPEAL_DAYS,
        "audit_days": RETENTION.days,
        "deletion_days": settings.ACCOUNT_DELETION_DAYS,
        "invoice_years": settings.INVOICE_YEARS,
        "post_characters": MAX_CHARACTERS,
        "report_days": settings.REPORT_DAYS,
        "reservation_minutes": settings.SHOP_RESERVATION_SECONDS // 60,
        "return_days": settings.RETURN_DAYS,
        "seller": get_seller(),
        "session_days": settings.SESSION_COOKIE_AGE // DAY_SECONDS,
        "view_days": settings.SHOP_VIEW_DAYS,
    }
    return render(request, f"pages/{name}.html", context)


urlpatterns = [path(f"{name}/", page, {"name": name}, name=name) for name in NAMES]


class SectionSitemap(SiteSitemap):
    """The main pages, which link to all others."""

    def items(self) -> list[str]:
        return ["home", "catalog:list", "shop:sale", "social:global", "accounts:leaderboard", *NAMES]

    def location(self, item: str) -> str:
        return reverse(item)


SITEMAPS: Final[Mapping[str, type[Sitemap]]] = {
    "sections": SectionSitemap,
    "books": BookSitemap,
    "authors": AuthorSitemap,
}
