"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DetailsConfig(AppConfig):
    name = "catalog.details"
    label = "details"
    verbose_name = _("details of books")

    def ready(self) -> None:
        from catalog.details import selectors

        selectors.register_extra()
