"""Redis time-outs of the test process.

On a loaded machine a healthy server may take longer to answer than a request waits. The site then falls back to SQL,
which is right, but few tests are about that. So the test process waits long, except while a test freezes a server on
purpose.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from django_redis import get_redis_connection
from pytest_django.fixtures import Settings
from redis.exceptions import ConnectionError, TimeoutError

from config.defaults import redis
from mirror.conf import DEFAULTS
from mirror.redis.clients import with_prefix
from mirror.redis.keys import prefix
from tests.support.servers import RedisServer, wait_until

PATIENT_SECONDS: Final = 60.0
_NAMES: Final = ("SOCKET_TIMEOUT", "SOCKET_CONNECT_TIMEOUT")


def with_timeouts(caches: Mapping[str, Any], seconds: float | None = None) -> dict[str, Any]:
    """Return ``caches`` with socket time-outs of ``seconds`` (None: the time-outs of the site)."""
    return {
        alias: cache | {"OPTIONS": cache["OPTIONS"] | {name: seconds or _of_the_site(alias) for name in _NAMES}}
        for alias, cache in caches.items()
    }


def _of_the_site(alias: str) -> float:
    options: Any = redis.CACHES[alias]["OPTIONS"]
    return float(options["SOCKET_TIMEOUT"])


class ShortTimeouts:
    """Use the site's short time-outs in this process while a server is frozen.

    settings: the fixture of pytest-django. Each server of the test gets this object as ``on_hang``.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, self.frozen = settings, set[RedisServer]()

    def __call__(self, server: RedisServer, is_hung: bool) -> None:
        (self.frozen.add if is_hung else self.frozen.discard)(server)
        broker_seconds = DEFAULTS["BROKER_TIMEOUT_SECONDS"] if self.frozen else PATIENT_SECONDS
        self.settings.MIRROR = self.settings.MIRROR | {"BROKER_TIMEOUT_SECONDS": broker_seconds}
        self.settings.CACHES = with_timeouts(self.settings.CACHES, None if self.frozen else PATIENT_SECONDS)
        if is_hung:
            for alias, cache in self.settings.CACHES.items():
                if str(server.socket) in str(cache["LOCATION"]):
                    wait_until(partial(_answers, alias), f"a connection of {alias}")


def _answers(alias: str) -> bool:
    """Open a connection, as a process that served requests has, and return whether the server answers."""
    with suppress(ConnectionError, TimeoutError):
        text = "" if alias == "default" else prefix.current()
        return bool(with_prefix(get_redis_connection(alias), text).ping())
    return False


@contextmanager
def hung(server: RedisServer) -> Generator[None, None, None]:
    """Freeze the server for the duration of the block."""
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


@contextmanager
def dead(server: RedisServer) -> Generator[None, None, None]:
    """Kill the server for the duration of the block, then start it again."""
    server.kill()
    try:
        yield
    finally:
        server.start()
