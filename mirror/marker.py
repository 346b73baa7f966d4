"""Warm markers: what says that a mirror is whole in the Redis at hand.

A marker reads ``<layout version>|<database identity>|<incarnation>|<generation>``. A reader believes it
only if the first three are what they should be: written by this code, for this database, in this life
of this server. The generation is new with every rebuild, so that copies kept elsewhere start over.
"""

import time
import uuid
from collections.abc import Sequence
from functools import cache
from typing import Any

from mirror import naming, registry
from mirror.conf import setting
from mirror.declare import Mirror
from mirror.models import Identity
from mirror.redis import incarnation
from mirror.session import Command, Conflict, Session


@cache
def database_identity() -> str:
    """Which database this is: made when it was, kept in it, read once a process."""
    identity, _ = Identity.objects.using(setting("DATABASE")).get_or_create(pk=1)
    return identity.uuid.hex


def value(name: str, incarnation_now: str, generation: str) -> str:
    """What the marker of mirror ``name`` says when it is whole."""
    return "|".join([str(registry.get(name).version), database_identity(), incarnation_now, generation])


def _generation(name: str, found: bytes | None, incarnation_now: str) -> str | None:
    """The generation, if the marker ``found`` can be believed."""
    if found is None:
        return None
    text = found.decode(errors="replace")
    head, _, generation = text.rpartition("|")
    return generation if text == value(name, incarnation_now, generation) and head else None


def generations(redis: Any, names: Sequence[str], found: Sequence[bytes | None]) -> tuple[str, ...] | None:
    """The generations of the mirrors ``names`` whose markers are ``found``, or None if one is cold.

    A marker of another incarnation makes this process ask the server (at most once a second) who it is:
    its connections may be older than the server's present identity.
    """
    now = incarnation(redis)
    result = [_generation(name, text, now) for name, text in zip(names, found, strict=True)]
    if None in result and None not in found and may_ask(redis.connection_pool):
        now = incarnation(redis, ask=True)
        result = [_generation(name, text, now) for name, text in zip(names, found, strict=True)]
    return None if None in result else tuple(g for g in result if g is not None)


def may_ask(pool: Any) -> bool:
    """Whether to ask the server of this pool who it is: at most once a second."""
    now = time.monotonic()
    if now - pool.asked_at < setting("INCARNATION_CHECK_SECONDS"):
        return False
    pool.asked_at = now
    return True


def is_warm(redis: Any, name: str) -> bool:
    """Whether mirror ``name`` is whole now (one or two round trips)."""
    return generations(redis, [name], [redis.get(naming.marker(name))]) is not None


def now(redis: Any) -> str:
    """The incarnation of ``redis``, asked for now (the server may have changed since the connection opened)."""
    return incarnation(redis, ask=True)


def set_after_rebuild(mirror: Mirror, redis: Any, token: str) -> bool:
    """Call the mirror whole, in one step that fails if the rebuild's token is gone. Returns whether it did.

    Its feed is told of the new generation, which also means that a feed is never empty while warm.
    """
    building, name = naming.building(mirror.name), naming.marker(mirror.name)
    generation = uuid.uuid4().hex[:12]
    try:
        with Session(redis) as session:
            if session.watch_and_ask([building], [("GET", building)]) != [token.encode()]:
                return False
            if not token.startswith(f"{mirror.version}:{session.incarnation}:"):
                return False
            session.execute(
                [
                    ("SET", name, value(mirror.name, session.incarnation, generation)),
                    ("DEL", building),
                    *_reset(mirror, generation),
                ]
            )
    except Conflict:
        return False
    return True


def restamp(mirror: Mirror, redis: Any, found: bytes, incarnation: str) -> bool:
    """After a replay: the marker ``found`` is good for this incarnation too. Returns whether it was set.

    It fails if the marker is no longer what was found, or Redis another: then it was emptied, rebuilt or replaced
    meanwhile.
    """
    name, generation = naming.marker(mirror.name), found.decode().rpartition("|")[2]
    try:
        with Session(redis) as session:
            if session.incarnation != incarnation or session.watch_and_ask([name], [("GET", name)]) != [found]:
                return False
            fresh = value(mirror.name, session.incarnation, generation + "+")
            session.execute([("SET", name, fresh), *_reset(mirror, generation + "+")])
    except Conflict:
        return False
    return True


def _reset(mirror: Mirror, generation: str) -> list[Command]:
    feed = mirror.feed()
    return [("XADD", feed, "*", "reset", generation)] if feed else []
