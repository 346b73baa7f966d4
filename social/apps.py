"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SocialConfig(AppConfig):
    name = "social"
    verbose_name = _("readers among themselves")

    def ready(self) -> None:
        from accounts import hiding
        from social import checks, personal, shuns  # noqa: F401

        hiding.register(shuns.ACROSS_BLOCKS)
        personal.register_parts()
