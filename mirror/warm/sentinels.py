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
        missing = _find_missing(session, owner)
        # All are missing before they are set for the first time.
        return 0 < len(missing) < COUNT


def renew(redis: RedisClient, owner: str, *, emptied: bool = False) -> None:
    """Set the sentinels of ``owner`` on a cluster that has none.

    emptied: the loss has been dealt with, so set any missing ones.
    """
    with Session(redis) as session:
        if not session.of_cluster:
            return
        missing = _find_missing(session, owner)
        # Some missing sentinels prove a loss: to set them before it is dealt with would hide it.
        if missing and (emptied or len(missing) == COUNT):
            session.ask([("SET", name, "") for name in missing])


def _find_missing(session: Session, owner: str) -> list[str]:
    names = [naming.sentinel(owner, number) for number in range(COUNT)]
    command = ("MGET", *names)
    (found,) = session.ask([command])
    return [name for name, text in zip(names, found, strict=True) if text is None]
