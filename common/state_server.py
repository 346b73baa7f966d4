"""Questions to the state server, outside the mirror's connections."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

T = TypeVar("T")


def get_cache_url(alias: str) -> str:
    """Return the URL of a cache alias, or the first one of several URLs."""
    found = settings.CACHES[alias]["LOCATION"]
    return str(found[0] if isinstance(found, list | tuple) else found).split(",")[0]


def query_state_server(question: Callable[[Redis], T]) -> T | None:
    """Return the state server's answer to a question, or None without an answer or permission."""
    options: Any = settings.CACHES["state"]["OPTIONS"]
    retry, timeout = Retry(NoBackoff(), 0), options["SOCKET_TIMEOUT"]
    try:
        with Redis.from_url(
            get_cache_url("state"), socket_timeout=timeout, socket_connect_timeout=timeout, retry=retry
        ) as client:
            return question(client)
    except (RedisError, OSError, ValueError):
        return None
