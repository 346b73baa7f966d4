"""Application configuration."""

from django.apps import AppConfig


class MirrorTestConfig(AppConfig):
    name = "tests.projects.mirrortest"
    label = "mirrortest"

    def ready(self) -> None:
        from tests.support.faults import standing

        standing.install()
