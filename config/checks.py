"""System checks for dangerous settings. A missing Redis is no error here, because ``/readyz`` reports it."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.db import Error as DatabaseError
from django.db import connections

from common.servers import check_state_servers, get_cache_url, open_broker
from mirror.read import database_identity
from mirror.redis import RedisClient, check_default_user

MIN_REDIS_VERSION: Final = (6, 2)
MIN_METRICS_PREFIX: Final = 8  # the bits of the largest private network, 10.0.0.0/8


def parse_database(url: str) -> tuple[str, str]:
    """Return (server, database) of a URL in the spelling of redis-py or of kombu."""
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if parts.scheme in ("unix", "redis+socket"):
        return parts.path, query.get("db") or query.get("virtual_host") or "0"
    host = "127.0.0.1" if parts.hostname in (None, "localhost") else str(parts.hostname)
    return f"{host}:{parts.port or 6379}", query.get("db") or parts.path.strip("/") or "0"


def _find_databases() -> dict[str, tuple[str, str]]:
    return {
        "state (REDIS_URL)": parse_database(get_cache_url("state")),
        "cache (CACHE_URL)": parse_database(get_cache_url("default")),
        "broker (CELERY_BROKER_URL)": parse_database(settings.CELERY_BROKER_URL),
    }


@register("redis")
def check_databases(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that state, cache and broker have separate databases, because clearing the cache empties its database."""
    found = list(_find_databases().items())
    return [
        Error(
            f"The {one} and the {other} share one Redis database.",
            hint="Clearing the cache would empty both. Use a separate database for each, or better a separate server.",
            id="site.E001",
        )
        for i, (one, here) in enumerate(found)
        for other, there in found[i + 1 :]
        if here == there
    ]


@register("redis", deploy=True)
def check_servers(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that cache and state are separate servers in production: only the cache may evict keys."""
    places = _find_databases()
    if places["state (REDIS_URL)"][0] != places["cache (CACHE_URL)"][0]:
        return []
    return [
        Warning(
            "State and cache share one Redis server.",
            hint="Eviction and memory limits apply to the whole server: set CACHE_URL to another server.",
            id="site.W002",
        )
    ]


@register("database", deploy=True)
def check_replica(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that DATABASE_REPLICA_URL leads to a replica of the database. An unreachable server gives no message."""
    alias = settings.MIRROR["REPLICA"]
    try:
        if alias is None or _is_replica(alias):
            return []
    except DatabaseError:
        return []
    hint = "Readers would see other data while Redis is away: name a streaming replica of DATABASE_URL."
    return [Error("DATABASE_REPLICA_URL leads to no replica of the database.", hint=hint, id="site.E012")]


def _is_replica(alias: str) -> bool:
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT pg_is_in_recovery()")
        [is_in_recovery] = cursor.fetchone()
    return is_in_recovery and database_identity(alias) == database_identity()


@register("redis")
def check_state(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the state servers neither evict nor lose data. An unreachable server gives no message."""
    return check_state_servers(_check_state_server)


def _check_state_server(client: RedisClient) -> Iterator[CheckMessage]:
    info: dict[str, Any] = client.info()
    if info.get("maxmemory_policy", "noeviction") != "noeviction":
        yield Warning(
            f"The state server evicts keys (maxmemory-policy {info['maxmemory_policy']}).",
            hint="Evicted keys are lost without notice: set maxmemory-policy to noeviction.",
            id="site.W003",
        )
    if not info.get("aof_enabled", 1):
        yield Warning(
            "The state server keeps no append-only file.",
            hint="Each restart empties it, and everything is rebuilt from SQL: set appendonly to yes.",
            id="site.W004",
        )
    version = str(info.get("redis_version", ""))
    if version and tuple(int(part) for part in version.split(".")[:2]) < MIN_REDIS_VERSION:
        yield Error(f"Redis {version} is too old: 6.2 or later is required.", id="site.E006")


@register("redis", deploy=True)
def check_state_restart(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that a restart of a state server keeps transactions. An unreachable server gives no message."""
    return check_state_servers(check_default_user)


@register("redis", deploy=True)
def check_broker_restart(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that a restart of the broker keeps transactions. An unreachable server gives no message."""
    try:
        with open_broker() as client:
            found = list(check_default_user(client))
    except Exception:  # any error of kombu and its transports
        return []
    for message in found:
        message.msg = f"Broker (CELERY_BROKER_URL): {message.msg}"
    return found


@register("mail", deploy=True)
def check_mail(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that production sends emails. Printed emails would reveal links for new passwords in the log."""
    if not settings.EMAIL_BACKEND.endswith(("console.EmailBackend", "dummy.EmailBackend")):
        return []
    return [Warning("Mail is not sent.", hint="Readers cannot reset their passwords: set EMAIL_URL.", id="site.W007")]


@register("security", deploy=True)
def check_proxies(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that proxies are counted, and that there is one.

    Visitors behind an uncounted proxy share one address and lock each other out.
    """
    if settings.PROXY_COUNT:
        return []
    if not settings.IS_HTTPS:
        hint = (
            "The web server limits the time of headers and bodies, but not the number of connections of one address."
            " Put a proxy in front, and set PROXY_COUNT; docs/operations.md tells what it must do."
        )
        return [
            Warning("No proxy protects the site from visitors who open many connections.", hint=hint, id="site.W012")
        ]
    return [
        Warning(
            "The site is served over https, but PROXY_COUNT is 0.",
            hint="Set PROXY_COUNT to the number of proxies in front. Their headers about https are ignored otherwise.",
            id="site.W008",
        )
    ]


@register("security", deploy=True)
def check_metrics(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> Iterator[CheckMessage]:
    """Check that few machines may read /metrics, and that its counts are those of all processes."""
    wide = [str(network) for network in settings.METRICS_NETWORKS if network.prefixlen < MIN_METRICS_PREFIX]
    if wide:
        yield Warning(
            f"METRICS_NETWORKS opens /metrics to the world: {', '.join(wide)}",
            hint="Name the networks of your monitoring, or give it STATUS_TOKEN.",
            id="site.W010",
        )
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        yield Warning(
            "/metrics has the counts of one process.",
            hint="Set PROMETHEUS_MULTIPROC_DIR to one folder for all processes of the machine.",
            id="site.W011",
        )


@register("security", deploy=True)
def check_second_factor(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the admin needs a second factor in production."""
    if settings.SECOND_FACTOR_FOR_STAFF:
        return []
    return [Warning("Staff log in with a password only.", hint="Set SECOND_FACTOR_FOR_STAFF=True.", id="site.W009")]
