"""Settings of child processes: the tests' settings, with the test's ``MIRROR`` and a page that writes.

With ``PATIENT=yes``, a child waits for a healthy Redis and broker as long as the tests do.
"""

import json
import os

from tests.support.settings import *  # noqa: F403
from tests.support.settings import CACHES, DATABASES, MIDDLEWARE
from tests.support.settings import MIRROR as _MIRROR
from tests.support.timeouts import PATIENT_SECONDS, with_timeouts

_patience = {"BROKER_TIMEOUT_SECONDS": PATIENT_SECONDS} if "PATIENT" in os.environ else {}
MIRROR = {**_MIRROR, **_patience, **json.loads(os.environ.get("MIRROR_SETTINGS", "{}"))}
# Other tests use the processors and the disk at the same time, even while a process holds SQLite's lock.
DATABASES["default"]["OPTIONS"]["timeout" if "sqlite3" in DATABASES["default"]["ENGINE"] else "connect_timeout"] = 120
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"  # as in tests.support.patient_settings
# Workers and commands wait for a slow, healthy server. Requests keep the site's time-outs unless ``PATIENT`` is set.
_patient = with_timeouts(CACHES, PATIENT_SECONDS)
CACHES = _patient if "PATIENT" in os.environ else CACHES | {"relay": _patient["relay"]}
MIDDLEWARE = ["tests.faults.urls.WriteCosts", *MIDDLEWARE]
ROOT_URLCONF = "tests.faults.urls"
