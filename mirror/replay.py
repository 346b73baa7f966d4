"""Replay: what Redis forgot when it came back from an older file, or as a replica that lagged.

Every second the relay writes SQL's clock into Redis. When another incarnation answers, the clock found in it says
up to when it remembers; everything applied since then (with some slack) by any other incarnation is pending again.
If it remembers nothing, or less than SQL has kept, or more than SQL has seen, every mirror is rebuilt.
"""

import logging
from datetime import UTC, datetime
from typing import Any

from mirror import cold, marker, naming, outbox, push, registry, relay
from mirror.conf import setting
from mirror.declare import Mirror
from mirror.models import Identity
from mirror.session import Session

logger = logging.getLogger("mirror")
ROUNDS = 50  # of draining what late drains of the former incarnation have marked meanwhile


def check(redis: Any) -> str:
    """See which incarnation answers, and replay or have everything rebuilt if it is a new one.

    Returns that incarnation, or "" if something is left to replay. Raises redis-py's errors when Redis is away. Safe
    to stop anywhere, and to run twice at once.
    """
    marker.database_identity()
    identity = Identity.objects.using(outbox.using()).get(pk=1)
    now = marker.now(redis)
    if identity.incarnation != now:
        _begin(redis, identity, now)
    stale = _stale_markers(redis, now)
    if stale and identity.replay_from is not None and not _finish(redis, identity, now, stale):
        return ""
    return now


def write_clock(redis: Any, incarnation: str) -> None:
    """Note in Redis how far it remembers, if it is still the one that was checked.

    Another one may have something to replay, and would forget it.
    """
    with Session(redis) as session:
        if session.incarnation == incarnation:
            session.ask([("SET", naming.clock(), repr(outbox.clock()))])


def _begin(redis: Any, identity: Identity, now: str) -> None:
    """A new incarnation: decide between replay and rebuild, and write the decision down in SQL."""
    remembered = redis.get(naming.clock())
    sql_now = outbox.clock()
    since = float(remembered) - float(setting("SLACK_SECONDS")) if remembered else None
    if since is None or since < sql_now - float(setting("KEEP_SECONDS")) or float(remembered) > sql_now + 1:
        if identity.incarnation:  # else it is the first one there is
            logger.warning("Redis came back without what is needed for a replay: everything is rebuilt")
        cold.make_all_cold((mirror.name for mirror in registry.all_mirrors()), redis)
        identity.replay_from = None
    else:
        logger.warning("Redis came back as it was %.1f s ago: replaying", sql_now - float(remembered))
        identity.replay_from = datetime.fromtimestamp(since, tz=UTC)
    identity.incarnation = now
    identity.save(using=outbox.using(), update_fields=["incarnation", "replay_from"])


def _stale_markers(redis: Any, now: str) -> dict[str, bytes]:
    """Markers that were good for this database and layout in an earlier incarnation, by mirror."""
    mirrors = registry.all_mirrors()
    if not mirrors:
        return {}
    found = redis.mget([naming.marker(mirror.name) for mirror in mirrors])
    return {m.name: text for m, text in zip(mirrors, found, strict=True) if text and _is_stale(m, text, now)}


def _is_stale(mirror: Mirror, text: bytes, now: str) -> bool:
    layout, database, incarnation, _ = [*text.decode().split("|"), "", "", ""][:4]
    return (layout, database) == (str(mirror.version), marker.database_identity()) and incarnation != now


def _finish(redis: Any, identity: Identity, now: str, stale: dict[str, bytes]) -> bool:
    """Drain what is to be replayed until nothing of it is left, then call the mirrors whole again. Returns whether.

    A drain that the former incarnation answered may mark its changes while this goes on: so it is only over
    when, after everything was drained, no such mark is found. What is written meanwhile is not waited for: on a
    busy site that would have no end.
    """
    assert identity.replay_from is not None
    outbox.unapply_since(identity.replay_from, now)
    for _ in range(ROUNDS):
        relay.drain_all(redis=redis, until=outbox.newest_unapplied() or 0)
        if not outbox.unapply_since(identity.replay_from, now):
            break
    else:
        logger.warning("Changes of the former Redis keep coming in: the replay goes on with the next sweep")
        return False
    whole = True
    for name in sorted(stale, key=lambda name: len(registry.all_ahead(name))):
        if push.replay(name, redis, stale):
            marker.restamp(registry.get(name), redis, stale[name], now)
        else:
            whole = False  # it may wait for another mirror to be rebuilt
    return whole
