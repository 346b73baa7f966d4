"""A state server that Redis Sentinel supervises: redis-py's client asks the sentinels for the present master.

Set ``SentinelPool`` and ``SentinelPoolFactory`` instead of ``MirrorPool`` and ``PoolFactory``, the sentinels in the
option that django-redis has for them, and the service's name as the host of ``LOCATION``. The new master after a
failover is another incarnation: the relay replays what it lacks, or rebuilds.
"""

from typing import Any

from django_redis.pool import SentinelConnectionFactory
from redis.exceptions import ReadOnlyError
from redis.sentinel import SentinelConnectionPool, SentinelManagedConnection, SentinelManagedSSLConnection

from mirror.redis.keys import prefix
from mirror.redis.pool import Learning, MirrorPool, PoolFactory


class LearningSentinelConnection(Learning, SentinelManagedConnection):
    """A TCP connection to the master."""

    def collect(self, count: int) -> list[Any]:
        replies = super().collect(count)
        if any(isinstance(reply, ReadOnlyError) for reply in replies):
            # The server is a replica now. redis-py's ``read_response`` does the same.
            self.disconnect()
        return replies


class LearningSentinelSSLConnection(LearningSentinelConnection, SentinelManagedSSLConnection):
    """A TLS connection to the master."""


_LEARNING = {
    SentinelManagedConnection: LearningSentinelConnection,
    SentinelManagedSSLConnection: LearningSentinelSSLConnection,
}


class SentinelPool(SentinelConnectionPool, MirrorPool):
    """A ``MirrorPool`` of connections to the master of a service."""

    def __init__(self, service_name: str, sentinel_manager: Any, **kwargs: Any) -> None:
        kind = kwargs.pop("connection_class", None)
        if kind is None:
            kind = SentinelManagedSSLConnection if kwargs.pop("ssl", False) else SentinelManagedConnection
        super().__init__(service_name, sentinel_manager, connection_class=_LEARNING.get(kind, kind), **kwargs)

    def _copy_pool(self, packer: prefix.Packer) -> MirrorPool:
        options = self.connection_kwargs | {"command_packer": packer}
        # Each pool adds itself, by which its connections find the master.
        options.pop("connection_pool", None)
        return SentinelPool(
            self.service_name,
            self.sentinel_manager,
            connection_class=self.connection_class,
            max_connections=self.max_connections,
            check_connection=self.check_connection,
            **options,
        )


class SentinelPoolFactory(PoolFactory, SentinelConnectionFactory):
    """A ``PoolFactory`` that asks the sentinels for the master."""
