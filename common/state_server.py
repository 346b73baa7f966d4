"""System checks of the state servers."""

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django_redis import get_redis_connection
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from mirror.redis import RedisClient, is_cluster_url, list_servers


def get_cache_url(alias: str) -> str:
    """Return the URL of a cache alias, or the first one of several URLs."""
    found = settings.CACHES[alias]["LOCATION"]
    return str(found[0] if isinstance(found, list | tuple) else found).split(",")[0]


def check_state_servers(check: Callable[[RedisClient], Iterable[CheckMessage]]) -> list[CheckMessage]:
    """Return the messages of a system check of each state server; on a cluster they begin with the master's address.

    Without an answer or permission, there are none.
    """
    options: Any = settings.CACHES["state"]["OPTIONS"]
    retry, timeout = Retry(NoBackoff(), 0), options["SOCKET_TIMEOUT"]
    url = get_cache_url("state")
    try:
        if is_cluster_url(url):
            return [
                _put_before(f"{address}: ", message)
                for address, server in list_servers(get_redis_connection("state")).items()
                for message in check(server)
            ]
        with Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=retry) as client:
            return list(check(client))
    except (RedisError, OSError, ValueError):
        return []


def _put_before(text: str, message: CheckMessage) -> CheckMessage:
    message.msg = text + message.msg
    return message
