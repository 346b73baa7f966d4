"""The tests' settings for child processes, with ``MIRROR`` as the test wants it and a page that writes."""

import json
import os

from tests.support.faults.standing import PATIENT_SECONDS
from tests.support.settings import *  # noqa: F403
from tests.support.settings import CACHES, DATABASES
from tests.support.settings import MIRROR as _MIRROR

MIRROR = {**_MIRROR, **json.loads(os.environ.get("MIRROR_SETTINGS", "{}"))}
# Other tests have the processors and the disk too, also while somebody holds SQLite's lock.
DATABASES["default"]["OPTIONS"]["timeout" if "sqlite3" in DATABASES["default"]["ENGINE"] else "connect_timeout"] = 120
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"  # as in tests.support.patient_settings
# Workers and commands wait for a server that is well, however long it is kept from answering; requests do as ever.
for alias in CACHES if "PATIENT" in os.environ else ["relay"]:
    for option in ("SOCKET_TIMEOUT", "SOCKET_CONNECT_TIMEOUT"):
        CACHES[alias]["OPTIONS"][option] = PATIENT_SECONDS  # type: ignore[index]
ROOT_URLCONF = "tests.support.faults.urls"
