"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SocialConfig(AppConfig):
    name = "social"
    verbose_name = _("readers among themselves")

    def ready(self) -> None:
        from social import checks  # noqa: F401
