"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = _("accounts")

    def ready(self) -> None:
        from accounts import personal_parts, session_receivers, signals  # noqa: F401
        from accounts.audit import receivers  # noqa: F401
        from accounts.lockout import backend  # noqa: F401

        personal_parts.register_parts()
