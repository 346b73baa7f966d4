"""Application configuration."""

from django.apps import AppConfig
from django.db.models.signals import post_delete
from django.utils.translation import gettext_lazy as _


class CatalogConfig(AppConfig):
    name = "catalog"
    verbose_name = _("catalogue")

    def ready(self) -> None:
        from catalog import personal
        from catalog.pictures.services import COVER, PHOTO, delete_files_of

        personal.register_parts()
        # Only of these models: with a receiver, Django reads rows before it deletes them.
        for column in (COVER, PHOTO):
            post_delete.connect(delete_files_of, sender=column.model, dispatch_uid=f"catalog.pictures.{column.column}")
