"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = _("accounts")

    def ready(self) -> None:
        from accounts.audit import receivers  # noqa: F401
        from accounts.lockout import backend  # noqa: F401
        from accounts.personal import parts
        from accounts.sessions import receivers as session_receivers  # noqa: F401
        from accounts.users import language  # noqa: F401
        from accounts.users import receivers as signals  # noqa: F401

        parts.register_parts()
