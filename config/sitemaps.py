"""The sitemap of the site: its main pages, and the sitemaps of the apps."""

from collections.abc import Mapping
from typing import Final

from django.contrib.sitemaps import Sitemap
from django.urls import reverse

from catalog.sitemaps import AuthorSitemap, BookSitemap, SiteSitemap
from config import pages


class SectionSitemap(SiteSitemap):
    """The main pages, which link to all others."""

    def items(self) -> list[str]:
        return ["home", "catalog:list", "shop:sale", "social:global", "accounts:leaderboard", *pages.NAMES]

    def location(self, item: str) -> str:
        return reverse(item)


SITEMAPS: Final[Mapping[str, type[Sitemap]]] = {
    "sections": SectionSitemap,
    "books": BookSitemap,
    "authors": AuthorSitemap,
}
