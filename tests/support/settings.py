"""The site's settings, and the application that the mirror's own tests use."""

import os

# Before the settings are read; child processes inherit it.
os.environ.setdefault("DEBUG", "True")

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as _INSTALLED_APPS

INSTALLED_APPS = [*_INSTALLED_APPS, "tests.support.mirror.app"]

# Static files are looked for when they are asked for: every test client would list them all, 15 ms each.
WHITENOISE_AUTOREFRESH = True
