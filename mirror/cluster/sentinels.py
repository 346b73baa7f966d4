"""Sentinels: keys spread over a cluster that show when one of its masters was emptied.

A master that lost its data in a restart has another incarnation. One that was emptied by a command has not, and the
markers may be on another master. But each master has some of the sentinels.
"""

from typing import Final

from mirror.redis import naming
from mirror.redis.session import Session
from mirror.redis.types import RedisClient

COUNT: Final = 64


def was_emptied(redis: RedisClient, owner: str) -> bool:
    """Return whether some sentinels of ``owner`` are missing. Without a cluster, or any sentinel yet, return False."""
    with Session(redis) as session:
        if not session.of_cluster:
            return False
        (found,) = session.ask([("MGET", *(naming.sentinel(owner, number) for number in range(COUNT)))])
    return None in found and any(text is not None for text in found)


def renew(redis: RedisClient, owner: str) -> None:
    """Set the sentinels of ``owner`` on a cluster."""
    with Session(redis) as session:
        if session.of_cluster:
            session.ask([("SET", naming.sentinel(owner, number), "") for number in range(COUNT)])
