"""Namespaces of test runs: their keys are separate from the site's, on any configured Redis.

Test runners rename the database of a connection after Django has loaded the applications. Each process has a new
namespace for each database that it uses like this, because all in-memory databases have the same name. It removes
these keys when it exits. The first run that ends a day later removes the keys of killed processes.
"""

import re
import secrets
import time
from multiprocessing.util import Finalize
from typing import Final

from django.conf import settings
from django_redis import get_redis_connection
from redis.exceptions import RedisError

from mirror.conf import setting

HEAD: Final = "mirror:test:"
KEPT_SECONDS: Final = 24 * 3600  # longer than any test run
STEP: Final = 1000  # keys in one command
_GLOB: Final = re.compile(r"([*?\[\]\\])")


class _Known:
    """The name of the site's database, and of the test database that this process used last."""

    configured: str | None = None
    name = ""
    namespace = ""


def note_configured() -> None:
    """Remember the name of the site's own database, before a test runner renames it."""
    database = settings.DATABASES.get(setting("DATABASE"), {})
    _Known.configured = str(database.get("NAME"))


def current() -> str:
    """Return the namespace of the test database that this process used last, or ""."""
    return _Known.namespace


def enter(name: str) -> bool:
    """Begin a namespace if ``name`` is a test database and not the last one. Return whether it began."""
    if _Known.configured is None or name in (_Known.configured, _Known.name):
        return False
    word = re.split(r"[/\\]", name.partition("?")[0])[-1]
    readable = re.sub(r"[^0-9A-Za-z_]+", "_", word)
    _Known.name = name
    _Known.namespace = f"{HEAD}{int(time.time()):x}-{secrets.token_hex(4)}:{readable}:"
    # Not atexit: a worker of multiprocessing runs finalizers only, and a forked child must leave its parent's keys.
    Finalize(None, remove_keys, args=(_Known.namespace,), exitpriority=0)
    return True


def remove_keys(namespace: str) -> None:
    """Remove the keys of this namespace, and those of killed processes. Without Redis, do nothing."""
    prefix = str(setting("PREFIX"))
    head, own = f"{prefix}{HEAD}".encode(), f"{prefix}{namespace}".encode()
    try:
        redis = get_redis_connection(setting("RELAY_ALIAS") or setting("ALIAS"))
        pipe = redis.pipeline(transaction=False)
        for found in redis.scan_iter(match=escape_pattern(head.decode()) + "*", count=STEP):
            if found.startswith(own) or _is_old(found.removeprefix(head)):
                pipe.unlink(found)
            if len(pipe) >= STEP:
                pipe.execute()
        pipe.execute()
    except RedisError:
        # The run that ends a day later removes them.
        pass


def escape_pattern(text: str) -> str:
    """Return the glob pattern that matches this text alone."""
    return _GLOB.sub(r"\\\1", text)


def _is_old(name: bytes) -> bool:
    began = re.match(rb"([0-9a-f]+)-", name)
    return began is not None and int(began[1], 16) < time.time() - KEPT_SECONDS
