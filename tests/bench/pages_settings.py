"""Settings of the servers that the benchmark of pages compares; ``BENCH_SERVER`` selects one.

ours: the site. plain: without a page cache.
django: with Django's cache middleware. bare: only a view that returns "ok".
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
_PLAIN = [name for name in _MIDDLEWARE if not name.startswith("shop.pagecache")]
MIDDLEWARE = {
    "bare": [],
    "plain": _PLAIN,
    "django": [
        "django.middleware.cache.UpdateCacheMiddleware",
        *_PLAIN,
        "django.middleware.cache.FetchFromCacheMiddleware",
    ],
}.get(SERVER, _MIDDLEWARE)
CACHE_MIDDLEWARE_SECONDS = 300
