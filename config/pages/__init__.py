"""The pages that belong to no app: the front page, the static pages behind the footer's links, and the style guide."""

from config.pages import static, style_guide
from config.pages.home import home
from config.pages.static import NAMES, SITEMAPS

urlpatterns = [*static.urlpatterns, *style_guide.urlpatterns]

__all__ = ["NAMES", "SITEMAPS", "home", "urlpatterns"]
