"""Application configuration."""

from django.apps import AppConfig


class LoginlogConfig(AppConfig):
    name = "loginlog"
