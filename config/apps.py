"""The site itself as an application, so that its checks, commands and templates are found."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "config"
    label = "site"
