"""The clients of the state server, and what happens while it is away."""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver
from django_redis import get_redis_connection
from redis.exceptions import RedisError

from mirror.conf import setting
from mirror.redis.circuit_breaker import Breaker
from mirror.redis.errors import find_refusal, is_away
from mirror.redis.keys import prefix
from mirror.redis.pool import MirrorPool
from mirror.redis.session import get_pool
from mirror.redis.types import RedisClient
from mirror.utils.failure_log import FailureLog

logger = logging.getLogger("mirror")
T = TypeVar("T")

breaker = Breaker()
outages = FailureLog(logger)
SET_POOL: Final = 'Set CONNECTION_POOL_CLASS in its OPTIONS to "mirror.redis.MirrorPool".'
LEAVE_BYTES: Final = (
    "Remove decode_responses from CONNECTION_POOL_KWARGS in its OPTIONS and from the URL in its LOCATION; code that "
    "needs texts gets a cache alias of its own."
)
_REDIS: Final = "redis"  # the key of the failure: there is one state server


def client() -> RedisClient:
    """Return the client of requests, with short time-outs. Raises ImproperlyConfigured."""
    return _connect_alias(str(setting("ALIAS")))


def relay_client() -> RedisClient:
    """Return the client of workers and commands, with longer time-outs. Raises ImproperlyConfigured."""
    return _connect_alias(str(setting("RELAY_ALIAS") or setting("ALIAS")))


def _connect_alias(alias: str) -> RedisClient:
    return _make_client(alias, prefix.current())


# Kept, because a page asks for it twenty times. A client holds no connection, so threads may share it.
@cache
def _make_client(alias: str, text: str) -> RedisClient:
    redis = get_redis_connection(alias)
    # Connections of another class would not notice that the server was replaced.
    if not isinstance(redis.connection_pool, MirrorPool):
        raise ImproperlyConfigured(f"The cache alias {alias!r} has connections of another class. {SET_POOL}")
    if decodes(redis):
        raise ImproperlyConfigured(f"The cache alias {alias!r} decodes replies. {LEAVE_BYTES}")
    return with_prefix(redis, text)


def decodes(redis: RedisClient) -> bool:
    """Return whether a client's connections return texts in place of bytes."""
    # In a URL the option is a text, which redis-py takes for true whatever it says.
    return bool(redis.connection_pool.connection_kwargs.get("decode_responses"))


@receiver(setting_changed)
def _forget_clients(*, setting: str, **kwargs: Any) -> None:
    if setting in ("CACHES", "MIRROR"):
        _make_client.cache_clear()


def with_prefix(redis: RedisClient, text: str) -> RedisClient:
    """Return the client that puts ``text`` before each key, or ``redis`` itself if ``text`` is empty."""
    return get_pool(redis).prefixed(redis, text) if text else redis


def list_servers(redis: RedisClient) -> dict[str, RedisClient]:
    """Return a client of each master of a cluster by its address, or of the only server by "".

    For questions about servers, because a cluster's client sends commands without keys to one master. Raises
    redis-py's errors.
    """
    return get_pool(redis).list_servers(redis)


def try_redis(
    use: Callable[[RedisClient], T],
    otherwise: Callable[[], T],
    log: logging.Logger = logger,
    warning: str = "Redis did not answer, SQL does: %s",
    *about: object,
    redis: RedisClient | None = None,
) -> T:
    """Return ``use(client())``, or ``otherwise()`` if Redis is away or replies with an error.

    warning: logged with ``about`` and the error, as ``report_outage`` says; "" for none. redis: another client, used
    even while the breaker is open.
    """
    # Otherwise each request would pay a time-out while Redis is away.
    if redis is None and breaker.open():
        return otherwise()
    try:
        answer = use(client() if redis is None else redis)
    except RedisError as error:
        _note_failure(error, warning, about, log)
    else:
        report_answer()
        return answer
    return otherwise()


def _note_failure(error: RedisError, warning: str, about: tuple[object, ...], log: logging.Logger) -> None:
    """Open the breaker if Redis is away, and log the error if there is a warning."""
    was_away = is_away(error)
    if was_away:
        breaker.failed()
    if not warning:
        return
    if was_away:
        report_outage(error, warning, *about, log=log)
    else:
        outages.add((warning, *about), warning, *about, error, log=log, level=logging.WARNING)


def report_outage(error: BaseException, text: str, *about: object, log: logging.Logger = logger) -> None:
    """Log that Redis is away, unless this process has logged it within the hour.

    Each kind of refusal is a state of its own. text: logged with ``about`` and the error.
    """
    refusal = find_refusal(error)
    state = (_REDIS, refusal) if refusal else _REDIS
    outages.add(state, text, *about, error, log=log, level=logging.WARNING)


def report_answer() -> None:
    """Log that Redis answers again, if it did not. An answer does not prove that it refuses no other command."""
    outages.end(_REDIS, "Redis answers again")


def work_or_wait(
    work: Callable[[RedisClient], T],
    idle: T,
    log: logging.Logger,
    waiting: str,
    *about: object,
    redis: RedisClient | None = None,
) -> T:
    """Return ``work(redis)``, or ``idle`` while Redis is away: beat requests the work again later.

    redis: None stands for the client of workers. waiting: logged with ``about`` and the error, once while Redis is
    away. Raises other errors.
    """
    try:
        result = work(redis or relay_client())
    except RedisError as error:
        # An error that is no outage is a fault of the work, and would come again.
        if not is_away(error):
            raise
        report_outage(error, waiting, *about, log=log)
        return idle
    report_answer()
    return result


def incarnation(redis: RedisClient, *, ask: bool = False) -> str:
    """Return the incarnation of the server, as learned by the newest connection, or asked for now.

    Raises redis-py's errors if the server does not answer.
    """
    pool = get_pool(redis)
    if ask or not pool.incarnation:
        return pool.ask_incarnation(redis)
    return pool.incarnation


__all__ = [
    "RedisError",
    "breaker",
    "client",
    "incarnation",
    "list_servers",
    "relay_client",
    "try_redis",
    "work_or_wait",
]
