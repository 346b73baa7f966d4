"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ModerationConfig(AppConfig):
    name = "social.moderation"
    label = "moderation"
    verbose_name = _("moderation")

    def ready(self) -> None:
        from social.moderation import notification_kinds, personal
        from social.moderation.services import decisions  # noqa: F401

        personal.register_parts()
        notification_kinds.register_kinds()
