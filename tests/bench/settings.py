"""The settings of the site, with the models of the mirror's tests, which have one simple mirror each."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as _INSTALLED_APPS

INSTALLED_APPS = [*_INSTALLED_APPS, "django.contrib.sessions", "tests.projects.mirrortest"]
