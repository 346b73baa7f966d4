"""The doctor's findings about the servers of the state."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning
from redis.exceptions import RedisError

from mirror.redis.clients import list_servers
from mirror.redis.rights import check_default_user
from mirror.redis.session import is_cluster
from mirror.redis.types import RedisClient

MIN_VERSION: Final = (6, 2)
NO_REDIS: Final = "mirror.E034"


def check_redis(redis: RedisClient) -> list[CheckMessage]:
    try:
        return [
            _name_server(message, address)
            for address, server in list_servers(redis).items()
            for message in (*check_server(server.info(), of_cluster=is_cluster(redis)), *check_default_user(server))
        ]
    except RedisError as error:
        hint = "Start the server, or correct the LOCATION of the cache alias. SQL answers all reads meanwhile."
        return [Error(f"Redis does not answer: {error}", hint=hint, id=NO_REDIS)]


def _name_server(message: CheckMessage, address: str) -> CheckMessage:
    """Put the address of a master before a message."""
    if address:
        message.msg = f"{address}: {message.msg}"
    return message


def check_server(info: Mapping[str, Any], *, of_cluster: bool = False) -> Iterator[CheckMessage]:
    """Check a state server by its reply to INFO. of_cluster: it was named as a master of a cluster."""
    if info.get("cluster_enabled") and not of_cluster:
        hint = "Begin the URL with redis+cluster:// instead of redis://."
        yield Error(
            "The server belongs to a Redis Cluster, but its URL names a single one.", hint=hint, id="mirror.E036"
        )
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < MIN_VERSION:
        hint = "Install Redis 6.2 or later, or Valkey."
        yield Error(f"Redis {version} is too old.", hint=hint, id="mirror.E037")
    if info.get("role", "master") != "master":
        hint = "Connect to its primary: the relay writes."
        yield Error("The server is a read-only replica.", hint=hint, id="mirror.E038")
    if (policy := info.get("maxmemory_policy", "noeviction")) != "noeviction":
        hint = "Set maxmemory-policy to noeviction, and keep caches on another server: evicted keys are lost unnoticed."
        yield Error(f"The server evicts keys (maxmemory-policy {policy}).", hint=hint, id="mirror.E039")
    if not info.get("aof_enabled", 1):
        hint = "Set appendonly to yes. Otherwise a crash loses backups that were not flushed, and mirrors are rebuilt."
        yield Warning("The server keeps no append-only file.", hint=hint, id="mirror.W035")
