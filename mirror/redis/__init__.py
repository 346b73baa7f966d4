"""Connections to Redis: clients, prefixes, transactions, scripts, leases and a recorder of commands."""

from mirror.redis import naming, quick
from mirror.redis.circuit_breaker import Breaker
from mirror.redis.clients import breaker, client, list_servers, relay_client, try_redis, work_or_wait
from mirror.redis.keys.urls import is_cluster_url, tag_of
from mirror.redis.lease import lease
from mirror.redis.naming import slot_of, with_prefix
from mirror.redis.pool import MirrorPool, PoolFactory
from mirror.redis.recorder import Command as RecordedCommand
from mirror.redis.recorder import Recording, record
from mirror.redis.rights import check_default_user
from mirror.redis.scripts import Script
from mirror.redis.sentinel import SentinelPool, SentinelPoolFactory
from mirror.redis.session import Command, Conflict, Session
from mirror.redis.types import RedisClient, RedisPipeline

__all__ = [
    "Breaker",
    "Command",
    "Conflict",
    "MirrorPool",
    "PoolFactory",
    "RecordedCommand",
    "Recording",
    "RedisClient",
    "RedisPipeline",
    "Script",
    "SentinelPool",
    "SentinelPoolFactory",
    "Session",
    "breaker",
    "check_default_user",
    "client",
    "is_cluster_url",
    "lease",
    "list_servers",
    "naming",
    "quick",
    "record",
    "relay_client",
    "slot_of",
    "tag_of",
    "try_redis",
    "with_prefix",
    "work_or_wait",
]
