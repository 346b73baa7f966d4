"""System checks for settings that are dangerous. A Redis that is away is left to ``/readyz``."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

OLDEST: Final = (6, 2)
T = TypeVar("T")


def location(alias: str) -> str:
    """The URL of a cache alias (the first one, of several)."""
    found = settings.CACHES[alias]["LOCATION"]
    return str(found[0] if isinstance(found, list | tuple) else found).split(",")[0]


def place(url: str) -> tuple[str, str]:
    """(server, database) that ``url`` means, in redis-py's spelling or in kombu's."""
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if parts.scheme in ("unix", "redis+socket"):
        return parts.path, query.get("db") or query.get("virtual_host") or "0"
    host = "127.0.0.1" if parts.hostname in (None, "localhost") else str(parts.hostname)
    return f"{host}:{parts.port or 6379}", query.get("db") or parts.path.strip("/") or "0"


def _places() -> dict[str, tuple[str, str]]:
    return {
        "state (REDIS_URL)": place(location("state")),
        "cache (CACHE_URL)": place(location("default")),
        "broker (CELERY_BROKER_URL)": place(settings.CELERY_BROKER_URL),
    }


@register("redis")
def check_databases(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """State, cache and broker have a logical database each: clearing the cache empties its own."""
    found = list(_places().items())
    return [
        Error(
            f"The {one} and the {other} share one Redis database.",
            hint="Clearing the cache would empty both. Give each a database, better a server, of its own.",
            id="site.E001",
        )
        for i, (one, here) in enumerate(found)
        for other, there in found[i + 1 :]
        if here == there
    ]


@register("redis", deploy=True)
def check_servers(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """In production the cache, which may evict, is another server than the state, which may not."""
    places = _places()
    if places["state (REDIS_URL)"][0] != places["cache (CACHE_URL)"][0]:
        return []
    return [
        Warning(
            "State and cache are on one Redis server.",
            hint="Eviction and memory are the server's, not the database's: set CACHE_URL to another server.",
            id="site.W002",
        )
    ]


def ask_state(question: Callable[[Redis], T]) -> T | None:
    """What the state server answers; None where it does not, or may not be asked."""
    options: Any = settings.CACHES["state"]["OPTIONS"]
    retry, timeout = Retry(NoBackoff(), 0), options["SOCKET_TIMEOUT"]
    try:
        with Redis.from_url(
            location("state"), socket_timeout=timeout, socket_connect_timeout=timeout, retry=retry
        ) as client:
            return question(client)
    except (RedisError, OSError, ValueError):
        return None


@register("redis")
def check_state(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """The state server keeps what it is given. Says nothing when it does not answer."""
    return list(_state(ask_state(lambda client: client.info()) or {}))


def _state(info: dict[str, Any]) -> Iterator[CheckMessage]:
    if info.get("maxmemory_policy", "noeviction") != "noeviction":
        yield Warning(
            f"The state server evicts keys (maxmemory-policy {info['maxmemory_policy']}).",
            hint="What is evicted is missing without anyone noticing: set maxmemory-policy noeviction.",
            id="site.W003",
        )
    if not info.get("aof_enabled", 1):
        yield Warning(
            "The state server keeps no append-only file.",
            hint="Every restart empties it, and all is rebuilt from SQL meanwhile: set appendonly yes.",
            id="site.W004",
        )
    version = str(info.get("redis_version", ""))
    if version and tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        yield Error(f"Redis {version} is too old: 6.2 is needed.", id="site.E006")


@register("mail", deploy=True)
def check_mail(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """In production letters go somewhere: printed, they would show links for new passwords to who reads the log."""
    if not settings.EMAIL_BACKEND.endswith(("console.EmailBackend", "dummy.EmailBackend")):
        return []
    return [Warning("Mail is not sent.", hint="Forgotten passwords stay forgotten: set EMAIL_URL.", id="site.W007")]


@register("security", deploy=True)
def check_proxies(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Behind a proxy that is not counted all visitors have one address, and lock one another out."""
    if settings.PROXY_COUNT or not settings.IS_HTTPS:
        return []
    return [
        Warning(
            "The site is served over https, but no proxy is counted.",
            hint="Set PROXY_COUNT to the number of proxies in front: only then is it believed about https.",
            id="site.W008",
        )
    ]


@register("security", deploy=True)
def check_second_factor(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """In production a password alone does not open the admin."""
    if settings.SECOND_FACTOR_FOR_STAFF:
        return []
    return [Warning("Staff log in with a password alone.", hint="Set SECOND_FACTOR_FOR_STAFF=True.", id="site.W009")]
