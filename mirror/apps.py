"""Application configuration: load the declarations, then connect capture to the models."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class MirrorConfig(AppConfig):
    name = "mirror"
    verbose_name = _("mirrors")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mirror.capture import install
        from mirror.declare import checks  # noqa: F401  (checks register on import)
        from mirror.outbox import fixtures
        from mirror.read import answers, own_writes  # noqa: F401  (answers questions of declarations)
        from mirror.redis import namespace
        from mirror.relay import signals

        namespace.note_configured()
        autodiscover_modules("mirrors", "visits")
        signals.connect()
        fixtures.connect()
        own_writes.connect()
        install.connect()
