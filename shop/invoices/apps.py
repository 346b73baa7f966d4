"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class InvoicesConfig(AppConfig):
    name = "shop.invoices"
    label = "invoices"
    verbose_name = _("invoices")

    def ready(self) -> None:
        from shop.invoices import personal

        personal.register_parts()
