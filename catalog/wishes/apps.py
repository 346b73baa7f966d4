"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WishesConfig(AppConfig):
    name = "catalog.wishes"
    label = "wishes"
    verbose_name = _("wishes for books")

    def ready(self) -> None:
        from catalog.wishes import personal

        personal.register_parts()
