"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CatalogConfig(AppConfig):
    name = "catalog"
    verbose_name = _("catalogue")

    def ready(self) -> None:
        from catalog import personal

        personal.register_parts()
