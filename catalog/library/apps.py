"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LibraryConfig(AppConfig):
    name = "catalog.library"
    label = "library"
    verbose_name = _("imports of libraries")

    def ready(self) -> None:
        from catalog.library import personal

        personal.register_parts()
