"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ListsConfig(AppConfig):
    name = "catalog.lists"
    label = "lists"
    verbose_name = _("lists of books")

    def ready(self) -> None:
        from catalog.lists import personal, selectors

        personal.register_parts()
        selectors.register_extra()
