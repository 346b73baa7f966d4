"""Application configuration: load the declarations, then connect capture to the models."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class MirrorConfig(AppConfig):
    name = "mirror"
    verbose_name = _("mirrors")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mirror import checks  # noqa: F401  (checks register on import)
        from mirror.capture import install
        from mirror.cluster import extension as cluster
        from mirror.outbox import fixtures
        from mirror.read import answers, own_writes
        from mirror.redis.keys import namespace
        from mirror.relay import signals
        from mirror.visits import extension as visits
        from mirror.windows import extension as windows

        for extension in (cluster, windows, visits):
            extension.register()
        answers.register()
        namespace.note_configured()
        autodiscover_modules("mirrors", "visits")
        signals.connect()
        fixtures.connect()
        own_writes.connect()
        install.connect()
