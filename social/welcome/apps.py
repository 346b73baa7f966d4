"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WelcomeConfig(AppConfig):
    name = "social.welcome"
    label = "welcome"
    verbose_name = _("first steps")

    def ready(self) -> None:
        from social.welcome import personal

        personal.register_parts()
