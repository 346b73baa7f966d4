"""The tests' settings for child processes, with ``MIRROR`` as the test wants it and a page that writes."""

import json
import os

from tests.settings import *  # noqa: F403
from tests.settings import MIRROR as _MIRROR

MIRROR = {**_MIRROR, **json.loads(os.environ.get("MIRROR_SETTINGS", "{}"))}
ROOT_URLCONF = "tests.faults.urls"
