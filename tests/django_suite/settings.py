"""The settings of Django's own tests (``tests/test_sqlite.py`` in its source), with the servers of this run."""

import os
from urllib.parse import urlsplit


def _list_databases(url: str) -> dict[str, dict[str, object]]:
    if not url:
        # Django's tests use databases in memory. Without this pragma, REPLACE deletes rows without triggers.
        options = {"init_command": "PRAGMA recursive_triggers=ON"}
        sqlite: dict[str, object] = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": options}
        return {"default": sqlite, "other": sqlite}
    parts = urlsplit(url)
    postgres = {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": parts.hostname,
        "PORT": parts.port,
        "USER": parts.username,
        "PASSWORD": parts.password,
    }
    return {"default": {**postgres, "NAME": "suite"}, "other": {**postgres, "NAME": "suite_other"}}


DATABASES = _list_databases(os.environ["SUITE_DATABASE"])
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "mirror": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": os.environ["SUITE_REDIS"],
        "OPTIONS": {
            "CONNECTION_POOL_CLASS": "mirror.redis.MirrorPool",
            "CONNECTION_FACTORY": "mirror.redis.PoolFactory",
        },
    },
}
# Only the comparison drains.
MIRROR = {"ALIAS": "mirror", "VERIFY_PER_MINUTE": 0}
SECRET_KEY = "of Django's tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
