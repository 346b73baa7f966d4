"""Settings of the storm's processes: those of production, with all files in the storm's folder."""

import os
from pathlib import Path

from config.settings import *  # noqa: F403
from config.settings import STORAGES as _STORAGES

_FOLDER = Path(os.environ.get("STORM_FOLDER", "."))
STATIC_ROOT = _FOLDER / "static"
CELERY_BEAT_SCHEDULE_FILENAME = str(_FOLDER / "schedule")
# Static files are not collected: no simulated person loads them.
STORAGES = _STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
