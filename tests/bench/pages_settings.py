"""Settings of the servers that the benchmark of pages compares; ``BENCH_SERVER`` selects one.

ours: the site. bare: only a view that returns "ok".
"""

import os

from config.settings import *  # noqa: F403
from config.settings import MIDDLEWARE as _MIDDLEWARE

SERVER = os.environ["BENCH_SERVER"]
ROOT_URLCONF = "tests.bench.pages_urls"
SECURE_SSL_REDIRECT = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# A hundred readers write as much as ten thousand.
LIKE_RATES = POST_RATES = SHELF_RATES = ((1_000_000, 60), (1_000_000, 60))
MIDDLEWARE = [] if SERVER == "bare" else _MIDDLEWARE
