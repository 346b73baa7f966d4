"""Application configuration."""

from django.apps import AppConfig


class MirrorTestConfig(AppConfig):
    name = "tests.support.mirror.app"
    label = "mirrortest"

    def ready(self) -> None:
        from tests.support.faults import standing

        standing.install()
