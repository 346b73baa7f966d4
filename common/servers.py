"""Questions to the servers of the site: system checks of the state servers, and a client of the broker."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

import kombu.pools
from django.conf import settings
from django.core.checks import CheckMessage
from django_redis import get_redis_connection
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from mirror.conf import setting
from mirror.redis import RedisClient, is_cluster_url, list_servers
from mirror.relay import send


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


@contextmanager
def open_broker() -> Generator[RedisClient, None, None]:
    """Yield a client of the broker, with the time-out of requests. Raises any error of kombu and its transports."""
    wait = float(setting("BROKER_TIMEOUT_SECONDS"))
    with kombu.pools.producers[send.connect()].acquire(block=True, timeout=wait) as producer:
        yield producer.channel.client


def _put_before(text: str, message: CheckMessage) -> CheckMessage:
    message.msg = text + message.msg
    return message
