"""URLs of the whole site."""

from django.contrib import admin
from django.contrib.sitemaps import views as sitemaps
from django.urls import include, path

from accounts.views import staff
from catalog import views as catalog_views
from common.web import appearance, well_known
from config import health, pages
from config.metrics.views import metrics
from config.pages import SITEMAPS

urlpatterns = [
    path("", pages.home, name="home"),
    *pages.urlpatterns,
    path("look/theme/", appearance.set_theme, name="set_theme"),
    path("look/language/", appearance.set_language, name="set_language"),
    path("accounts/", include("accounts.urls")),
    path("notifications/", include("accounts.notifications.urls")),
    path("books/", include("catalog.urls")),
    path("books/", include("social.reviews.urls")),
    path("shelves/", include("catalog.shelves.urls")),
    path("lists/", include("catalog.lists.urls")),
    path("wishes/", include("catalog.wishes.urls")),
    path("library/", include("catalog.library.urls")),
    path("authors/", include("catalog.following.urls")),
    path("authors/<int:pk>/", catalog_views.author_page, name="author"),
    path("media/covers/<file>", catalog_views.cover_file, name="cover_file"),
    path("media/authors/<file>", catalog_views.photo_file, name="author_photo"),
    path("welcome/", include("social.welcome.urls")),
    path("search/", include("catalog.search.urls")),
    path("loginlog/", include("loginlog.urls")),
    path("shop/", include("shop.urls")),
    path("", include("social.urls")),
    path("", include("social.moderation.urls")),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("robots.txt", well_known.robots_txt, name="robots_txt"),
    path("favicon.ico", well_known.favicon, name="favicon"),
    path("sitemap.xml", sitemaps.index, {"sitemaps": SITEMAPS}, name="sitemap"),
    path(
        "sitemap-<section>.xml",
        sitemaps.sitemap,
        {"sitemaps": SITEMAPS},
        name="django.contrib.sitemaps.views.sitemap",  # the name that the index uses
    ),
    path(".well-known/security.txt", well_known.security_txt, name="security_txt"),
    path(".well-known/change-password", well_known.change_password, name="change_password"),
    path("admin/login/", staff.log_in),  # before Django's own
    path("admin/", admin.site.urls),
]

handler400 = "common.web.errors.bad_request"
handler403 = "common.web.errors.forbidden"
handler404 = "common.web.errors.not_found"
handler500 = "common.web.errors.server_error"
