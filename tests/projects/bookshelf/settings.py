"""Settings without anything about tests."""

import os
from pathlib import Path

import environ

_TIMEOUT = 60.0
SECRET_KEY = "of a project for tests"
USE_TZ = "BOOKSHELF_ZONE" not in os.environ
TIME_ZONE = os.environ.get("BOOKSHELF_ZONE", "UTC")
INSTALLED_APPS = ["mirror", "tests.projects.bookshelf"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(os.environ["BOOKSHELF_FOLDER"]) / "bookshelf.sqlite3",
        "OPTIONS": {"init_command": "PRAGMA recursive_triggers=ON;", "transaction_mode": "IMMEDIATE"},
        "TEST": {"NAME": os.environ.get("BOOKSHELF_TEST_NAME")},  # None: in memory
    }
}
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": os.environ["REDIS_URL"],
        "OPTIONS": {
            "CONNECTION_FACTORY": "mirror.redis.pool.PoolFactory",
            "CONNECTION_POOL_CLASS": "mirror.redis.pool.MirrorPool",
            "SOCKET_TIMEOUT": _TIMEOUT,
            "SOCKET_CONNECT_TIMEOUT": _TIMEOUT,
        },
    }
}
if "BOOKSHELF_POSTGRES" in os.environ:
    DATABASES = {"default": environ.Env.db_url_config(os.environ["BOOKSHELF_POSTGRES"])}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
