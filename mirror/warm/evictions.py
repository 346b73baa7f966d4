"""Evictions: notice that Redis removed keys because its memory was full. The markers may be among those that remain.

Mirrors need ``maxmemory-policy noeviction``. With another policy, a reader takes a removed key for a row that SQL does
not have.
"""

from mirror.redis import naming
from mirror.redis.clients import list_servers
from mirror.redis.types import RedisClient


def find_new(redis: RedisClient, incarnation: str) -> str:
    """Return a text that differs after each eviction, or "" if it is the remembered one or nothing was evicted."""
    evicted = sum(map(_count_evicted, list_servers(redis).values()))
    if evicted == 0:
        return ""
    text = f"{incarnation}|{evicted}"
    return "" if redis.get(naming.evicted()) == text.encode() else text


def remember(redis: RedisClient, text: str) -> None:
    """Store a text of ``find_new`` after its loss was dealt with."""
    redis.set(naming.evicted(), text)


def _count_evicted(server: RedisClient) -> int:
    # Two requests, because only Redis 7 takes several sections at once.
    info = server.info("memory") | server.info("stats")
    # Such a policy spares keys without an expiry. Windows, which have one, notice a loss by themselves.
    if str(info.get("maxmemory_policy", "")).startswith("volatile"):
        return 0
    return int(info.get("evicted_keys", 0))
