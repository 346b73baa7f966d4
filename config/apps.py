"""The site itself as an application, so that its checks, commands and templates are found."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "config"
    label = "site"

    def ready(self) -> None:
        from config import checks  # noqa: F401  (they register on import)
