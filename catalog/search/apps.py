"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SearchConfig(AppConfig):
    name = "catalog.search"
    label = "search"
    verbose_name = _("search")

    def ready(self) -> None:
        from catalog.search.results import words_filter

        words_filter.register()
