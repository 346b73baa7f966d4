"""Application configuration."""

from django.apps import AppConfig


class MirrorTestConfig(AppConfig):
    name = "tests.mirror.app"
    label = "mirrortest"
