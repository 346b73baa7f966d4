"""The settings of the site plus the test application of the mirror."""

import os

# Must be set before the settings are read; child processes inherit it.
os.environ.setdefault("DEBUG", "True")

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as _INSTALLED_APPS

INSTALLED_APPS = [*_INSTALLED_APPS, "tests.projects.mirrortest"]

# Look static files up on demand; listing all of them takes 15 ms for every test client.
WHITENOISE_AUTOREFRESH = True
