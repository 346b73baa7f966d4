"""Application configuration."""

from django.apps import AppConfig


class MirrorTestConfig(AppConfig):
    name = "tests.mirror.app"
    label = "mirrortest"

    def ready(self) -> None:
        from tests.faults import standing

        standing.install()
