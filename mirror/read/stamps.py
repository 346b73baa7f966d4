"""Stamps: the database and the server for which a structure in Redis is complete.

A structure that is no mirror, and that an application fills from SQL itself, stores a stamp beside its data when it is
complete. An emptied Redis has no stamp. One that was restored from an older file has another incarnation.
"""

from collections.abc import Sequence

from mirror.outbox.identity import database_identity
from mirror.redis.clients import incarnation
from mirror.redis.session import get_pool
from mirror.redis.types import RedisClient
from mirror.warm import marker

__all__ = ["are_current", "make"]


def make(redis: RedisClient) -> str:
    """Return the present stamp: ``<database identity>|<incarnation>|``. A structure may store it with a text after it.

    Raises redis-py's errors if the server does not answer.
    """
    return start(incarnation(redis))


def start(incarnation_now: str) -> str:
    """Return the beginning of every valid stamp in this incarnation."""
    return f"{database_identity()}|{incarnation_now}|"


def are_current(redis: RedisClient, found: Sequence[bytes | None]) -> list[bool]:
    """Return for each of these stamps, as read from Redis, whether it is valid."""
    now = incarnation(redis)
    valid = _find_valid(found, now)
    number_of_stamps = len(found) - list(found).count(None)
    # The connections may be older than the server's incarnation, so the server is asked, if not lately.
    if len(valid) < number_of_stamps and marker.may_ask(get_pool(redis)):
        now = incarnation(redis, ask=True)
        valid = _find_valid(found, now)
    return [number in valid for number in range(len(found))]


def _find_valid(found: Sequence[bytes | None], incarnation_now: str) -> set[int]:
    """Return the positions of the stamps that are valid in this incarnation."""
    return {number for number, stamp in enumerate(found) if get_text(stamp, incarnation_now) is not None}


def get_text(stamp: bytes | None, incarnation_now: str) -> str | None:
    """Return the text after a stamp of this incarnation, or None if the stamp is not valid."""
    if stamp is None:
        return None
    text = stamp.decode(errors="replace")
    beginning = start(incarnation_now)
    return text.removeprefix(beginning) if text.startswith(beginning) else None
