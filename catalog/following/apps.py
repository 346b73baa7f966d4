"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FollowingConfig(AppConfig):
    name = "catalog.following"
    label = "following"
    verbose_name = _("followed authors")

    def ready(self) -> None:
        from catalog.following import notification_kinds, personal

        personal.register_parts()
        notification_kinds.register_kinds()
