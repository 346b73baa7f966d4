"""The tests' settings for child processes, with ``MIRROR`` as the test wants it and a page that writes."""

import json
import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES
from tests.settings import MIRROR as _MIRROR

MIRROR = {**_MIRROR, **json.loads(os.environ.get("MIRROR_SETTINGS", "{}"))}
# Other tests have the processors and the disk too, also while somebody holds SQLite's lock.
DATABASES["default"]["OPTIONS"]["timeout" if "sqlite3" in DATABASES["default"]["ENGINE"] else "connect_timeout"] = 120
ROOT_URLCONF = "tests.faults.urls"
