"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WelcomeConfig(AppConfig):
    name = "social.welcome"
    label = "welcome"
    verbose_name = _("first steps")

    def ready(self) -> None:
        from social.welcome import personal, services  # noqa: F401  (a receiver registers on import)

        personal.register_parts()
