"""Warm markers, which prove that a mirror is complete in this Redis.

A marker is ``<layout version>|<database identity>|<incarnation>|<generation>``. A reader believes it only if the
first three parts match the code, the database and the server. Every rebuild starts a new generation, so that copies
outside of Redis are loaded again.
"""

import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from django.db import DatabaseError

from mirror import registry
from mirror.conf import setting
from mirror.declare.mirrors import Mirror
from mirror.models import Identity
from mirror.outbox.identity import database_identity, forget_identity
from mirror.redis import naming
from mirror.redis.clients import incarnation
from mirror.redis.pool import MirrorPool
from mirror.redis.session import Command, Conflict, Session, get_pool, set_with_transaction
from mirror.redis.types import RedisClient
from mirror.warm import rewind

INCARNATION_CHECK_SECONDS: Final = 1.0  # how often a process asks Redis for its incarnation because of a foreign marker


def check_database(redis: RedisClient, reply: Any = None) -> bool:
    """Make every mirror cold if SQL was restored from an older copy. Return whether it was.

    reply: to ``rewind.ask()``, if it is known.
    """
    if not rewind.check(redis, database_identity(), reply):
        return False
    # It may be the copy of another database.
    forget_identity()
    return True


def _forget_other_database() -> None:
    """Let this process read the identity again if the database was replaced. While SQL is away, do nothing."""
    with suppress(DatabaseError):
        if not Identity.objects.using(setting("DATABASE")).filter(uuid=database_identity()).exists():
            forget_identity()


def value(name: str, incarnation_now: str, generation: str) -> str:
    """Return the marker of a warm mirror ``name``."""
    return "|".join([str(registry.get(name).version), database_identity(), incarnation_now, generation])


def _read_generation(name: str, found: bytes | None, incarnation_now: str) -> str | None:
    """Return the generation in the marker ``found``, or None if it is not valid."""
    if found is None:
        return None
    text = found.decode(errors="replace")
    generation = text.rpartition("|")[2]
    return generation if text == value(name, incarnation_now, generation) else None


def _read_generations(
    names: Sequence[str], found: Sequence[bytes | None], incarnation_now: str
) -> tuple[str, ...] | None:
    """Return the generations in these markers, or None if one of them is not valid."""
    result = []
    for name, text in zip(names, found, strict=True):
        generation = _read_generation(name, text, incarnation_now)
        if generation is None:
            return None
        result.append(generation)
    return tuple(result)


def generations(redis: RedisClient, names: Sequence[str], found: Sequence[bytes | None]) -> tuple[str, ...] | None:
    """Return the generations of the mirrors ``names`` with the markers ``found``, or None if one is cold."""
    if None in found:
        return None
    if rewind.check_once(redis, database_identity()):
        return None
    result = _read_generations(names, found, incarnation(redis))
    # A marker of another incarnation or database may be right: the connections may be older than the present
    # incarnation, and the database may have been replaced. A cold mirror costs at most one question a second.
    if result is None and may_ask(get_pool(redis)):
        incarnation_now = incarnation(redis, ask=True)
        _forget_other_database()
        result = _read_generations(names, found, incarnation_now)
    return result


def may_ask(pool: MirrorPool) -> bool:
    """Return whether to ask this pool's server for its incarnation: at most once a second."""
    now = time.monotonic()
    if now - pool.asked_at < INCARNATION_CHECK_SECONDS:
        return False
    pool.asked_at = now
    return True


def is_warm(redis: RedisClient, name: str) -> bool:
    """Return whether mirror ``name`` is warm (one or two round trips)."""
    return generations(redis, [name], [redis.get(naming.marker(name))]) is not None


def list_cold(redis: RedisClient, names: Sequence[str]) -> list[str]:
    """Return which of the mirrors ``names`` are cold (one or two round trips)."""
    if not names:
        return []
    found = redis.mget([naming.marker(name) for name in names])
    # One at a time: ``generations`` tells only whether one of several is cold.
    return [name for name, text in zip(names, found, strict=True) if generations(redis, [name], [text]) is None]


def now(redis: RedisClient) -> str:
    """Ask ``redis`` for its incarnation, which may have changed since the connection opened."""
    return incarnation(redis, ask=True)


def set_after_rebuild(mirror: Mirror, redis: RedisClient, token: str) -> bool:
    """Make the mirror warm, unless the rebuild's token is gone. Return whether it succeeded.

    Both happen in one transaction.
    """
    building = naming.building(mirror.name)
    marker_key = naming.marker(mirror.name)
    generation = uuid.uuid4().hex[:12]
    try:
        with Session(redis) as session:
            if session.watch_and_ask([building], [("GET", building)]) != [token.encode()]:
                return False
            # The token names the incarnation in which the rebuild began. What it wrote before a failover may be lost.
            if not token.startswith(f"{mirror.version}:{session.incarnation}:"):
                return False
            # The feed receives the generation as well, so that it is never empty while its mirror is warm.
            reset = _reset_with_marker(session, mirror, generation)
            fresh = value(mirror.name, session.incarnation, generation)
            commands = set_with_transaction(marker_key, fresh)
            commands.append(("DEL", building))
            session.execute(commands + reset)
    except Conflict:
        return False
    return True


def restamp(mirror: Mirror, redis: RedisClient, found: bytes, incarnation: str) -> bool:
    """Make the marker ``found`` valid for this incarnation after a replay. Return whether it succeeded.

    It fails if the marker or the incarnation has changed, which means that Redis was emptied, rebuilt or replayed
    meanwhile.
    """
    marker_key = naming.marker(mirror.name)
    # Another generation, so that copies outside of Redis are loaded again.
    generation = found.decode().rpartition("|")[2] + "+"
    try:
        with Session(redis) as session:
            if session.incarnation != incarnation:
                return False
            if session.watch_and_ask([marker_key], [("GET", marker_key)]) != [found]:
                return False
            fresh = value(mirror.name, session.incarnation, generation)
            reset = _reset_with_marker(session, mirror, generation)
            session.execute(set_with_transaction(marker_key, fresh) + reset)
    except Conflict:
        return False
    return True


def _reset(mirror: Mirror, generation: str) -> list[Command]:
    """Return the command that tells the followers of a feed to load everything again."""
    feed = mirror.feed()
    if feed is None:
        return []
    return [("XADD", feed, "*", "reset", generation)]


def _reset_with_marker(session: Session, mirror: Mirror, generation: str) -> list[Command]:
    """Return the command that writes the generation to the feed, for the marker's transaction.

    On a cluster the feed is in another slot, and is written first: a generation without a marker is harmless.
    """
    commands = _reset(mirror, generation)
    if session.of_cluster and commands:
        session.ask(commands)
        return []
    return commands
