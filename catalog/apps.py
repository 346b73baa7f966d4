"""Application configuration."""

from django.apps import AppConfig
from django.db.models.signals import post_delete
from django.utils.translation import gettext_lazy as _


class CatalogConfig(AppConfig):
    name = "catalog"
    verbose_name = _("catalogue")

    def ready(self) -> None:
        from catalog import personal
        from catalog.pictures.services import delete_files_of

        personal.register_parts()
        post_delete.connect(delete_files_of, dispatch_uid="catalog.pictures")
