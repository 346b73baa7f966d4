"""The pages that belong to no app: the front page, and the static pages behind the links of the footer."""

from config.pages.home import home
from config.pages.static import NAMES, SITEMAPS, urlpatterns

__all__ = ["NAMES", "SITEMAPS", "home", "urlpatterns"]
