"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    name = "accounts.notifications"
    label = "notifications"
    verbose_name = _("notifications")

    def ready(self) -> None:
        from accounts.notifications import personal
        from accounts.notifications.pages import header

        personal.register_parts()
        header.register_user_read()
