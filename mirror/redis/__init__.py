"""Connections to Redis: clients, prefixes, transactions, scripts, leases and a recorder of commands."""

from mirror.redis.clients import MirrorPool, PoolFactory, breaker, client, relay_client, try_redis

__all__ = ["MirrorPool", "PoolFactory", "breaker", "client", "relay_client", "try_redis"]
