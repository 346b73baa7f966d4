"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LoginlogConfig(AppConfig):
    name = "loginlog"
    verbose_name = _("login log")

    def ready(self) -> None:
        from loginlog import checks, hooks, personal  # noqa: F401  (they register on import)

        personal.register_parts()
