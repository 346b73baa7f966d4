"""Replay: apply the changes again that Redis lost when it returned from an older file, or from a lagging replica.

Every second the relay writes SQL's clock into Redis. If another incarnation answers, this clock tells how recent
its data is. All changes that other incarnations applied since then (with some slack) become pending again. Every
mirror is rebuilt instead if the clock is missing, older than the changes that SQL keeps, or ahead of SQL, and if the
server dropped transactions when it loaded its file. If a former incarnation returns, the mirrors that it had warm are
rebuilt as well. After the replay a mirror is warm only if a sample of its rows equals SQL.
"""

import logging
import math
from collections.abc import Callable
from datetime import datetime

from mirror import registry
from mirror.conf import setting
from mirror.declare.mirrors import Mirror
from mirror.extensions import list_extensions
from mirror.models import Identity
from mirror.outbox import changes
from mirror.outbox.identity import database_identity, load_identity
from mirror.redis import naming
from mirror.redis.keys import prefix
from mirror.redis.rights import LOADING
from mirror.redis.session import Session, is_cluster, set_with_transaction
from mirror.redis.types import RedisClient
from mirror.relay import drains
from mirror.utils import moments
from mirror.verify import samples
from mirror.warm import cold, evictions, marker, sentinels

logger = logging.getLogger("mirror")
ROUNDS = 50  # maximum number of rounds for changes that late drains of the former incarnation mark meanwhile


def check(redis: RedisClient) -> str:
    """Check which incarnation answers. For a new one, replay the lost changes or order rebuilds.

    Before that, check that SQL itself was not restored (``mirror.warm.rewind``).

    Return the incarnation, or "" if the replay is not complete. Raises redis-py's errors when Redis is away.
    Crashes and concurrent runs are harmless.
    """
    marker.check_database(redis)
    identity = load_identity()
    now = marker.now(redis)
    evicted = evictions.find_new(redis, now)
    if identity.prefix not in (None, prefix.current()):
        # Changes of the same incarnation were applied to keys with another prefix, so a replay would not find them.
        logger.warning("The prefix of the keys has changed: everything is rebuilt")
        _order_rebuilds(redis, identity)
        _save_identity(identity, now)
    elif evicted:
        logger.error("Redis evicts keys, and has to have the maxmemory-policy noeviction: everything is rebuilt")
        _order_rebuilds(redis, identity)
        _save_identity(identity, now)
        evictions.remember(redis, evicted)
    elif identity.incarnation != now:
        _begin_incarnation(redis, identity, now)
    elif sentinels.was_emptied(redis, "mirror"):
        logger.warning("A master of the cluster was emptied: everything is rebuilt")
        _order_rebuilds(redis, identity)
    if identity.prefix is None:
        _save_identity(identity, now)
    stale = _find_markers(redis, lambda incarnation: incarnation != now)
    if not stale or identity.replay_from is None:
        return now
    is_complete = _finish_replay(redis, identity, now, stale)
    return now if is_complete else ""


def write_clock(redis: RedisClient, incarnation: str) -> None:
    """Write SQL's clock to Redis, if the server is still the one that was checked.

    Another incarnation may need a replay, which a new clock would prevent.
    """
    with Session(redis) as session:
        if session.incarnation == incarnation:
            now = repr(changes.clock())
            session.execute(set_with_transaction(naming.clock(), now))
            # After the transaction, so that a file that ends between them does not look like one without transactions.
            session.ask([("SET", naming.bare_clock(), now)])
            sentinels.renew(redis, "mirror")


def _begin_incarnation(redis: RedisClient, identity: Identity, now: str) -> None:
    """Decide between replay and rebuild for a new incarnation, and save the decision in SQL."""
    sql_now = changes.clock()
    last = _read_clock(redis)
    since = last - float(setting("SLACK_SECONDS"))
    is_too_old = since < sql_now - float(setting("KEEP_SECONDS"))
    is_ahead = last > sql_now + 1
    # A cluster may have lost a record without its entries, which are on other servers; a replay would leave strays.
    if is_cluster(redis) or is_too_old or is_ahead:
        # Without an earlier incarnation there was nothing to lose.
        if identity.incarnation:
            logger.warning("Redis came back without what is needed for a replay: everything is rebuilt")
        _order_rebuilds(redis, identity)
    else:
        logger.warning("Redis came back as it was %.1f s ago: replaying", sql_now - last)
        identity.replay_from = moments.to_bound(since)
        _cool_returned(redis, now)
    _save_identity(identity, now)


def _cool_returned(redis: RedisClient, now: str) -> None:
    """Make the mirrors cold that this incarnation had warm before another one answered, whose changes it lacks.

    Readers would trust their markers during a replay.
    """
    names = list(_find_markers(redis, lambda incarnation: incarnation == now))
    if names:
        logger.warning("A former Redis is back, without the changes of another one: %s are rebuilt", ", ".join(names))
    for name in names:
        cold.make_cold(name, redis)


def _order_rebuilds(redis: RedisClient, identity: Identity) -> None:
    """Make every mirror cold, and end the replay."""
    cold.make_all_cold((mirror.name for mirror in registry.all_mirrors()), redis)
    sentinels.renew(redis, "mirror", emptied=True)
    identity.replay_from = None


def _save_identity(identity: Identity, now: str) -> None:
    identity.incarnation = now
    identity.prefix = prefix.current()
    identity.save(using=changes.using(), update_fields=["incarnation", "prefix", "replay_from"])


def _read_clock(redis: RedisClient) -> float:
    """Return the clock in Redis, or infinity, which counts as ahead of SQL, if the data may not reach so far.

    A server that dropped transactions has kept others with a single write. Its records may then name entries that were
    dropped, which a replay would not write again.
    """
    clock = redis.get(naming.clock())
    bare = redis.get(naming.bare_clock())
    if bare is None:
        # A Redis without any clock, or one that older code wrote as a single command.
        return math.inf
    if clock is None or float(clock) < float(bare):
        logger.error("Redis dropped transactions when it loaded its append-only file. %s", LOADING)
        return math.inf
    return float(clock)


def _find_markers(redis: RedisClient, accept: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the markers for this database and layout from the incarnations that ``accept`` accepts, by mirror."""
    mirrors = registry.all_mirrors()
    if not mirrors:
        return {}
    texts = redis.mget([naming.marker(mirror.name) for mirror in mirrors])
    found: dict[str, bytes] = {}
    for mirror, text in zip(mirrors, texts, strict=True):
        if not text:
            continue
        incarnation = _find_incarnation(mirror, text)
        if incarnation is not None and accept(incarnation):
            found[mirror.name] = text
    return found


def _find_incarnation(mirror: Mirror, text: bytes) -> str | None:
    """Return the incarnation in a marker, or None if it is for another database or layout."""
    fields = text.decode().split("|")
    if len(fields) < 3:  # of older code
        return None
    layout, database, incarnation = fields[:3]
    is_ours = layout == str(mirror.version) and database == database_identity()
    return incarnation if is_ours else None


def _finish_replay(redis: RedisClient, identity: Identity, now: str, stale: dict[str, bytes]) -> bool:
    """Drain the replayed changes until none is left, then make the mirrors warm again. Return whether all are.

    A drain whose transaction the former incarnation executed may mark its changes during the replay. So the replay
    ends only if no such mark is found after a complete drain. It does not wait for later writes, because on a busy
    site it would never end.
    """
    assert identity.replay_from is not None
    if not _drain_lost(redis, identity.replay_from, now):
        logger.warning("Changes of the former Redis keep coming in: the replay goes on with the next sweep")
        return False
    is_complete = True
    sampler = samples.Sampler(redis)
    # Mirrors before those that depend on them.
    for name in sorted(stale, key=lambda name: len(registry.all_ahead(name))):
        mirror = registry.get(name)
        if not all(extension.replay(name, redis, stale) for extension in list_extensions()):
            # It may wait for the rebuild of another mirror.
            is_complete = False
        elif sampler.differs(mirror):
            # This Redis reverted meanwhile, and needs a replay of its own.
            if marker.now(redis) != now:
                return False
            logger.error("Redis lost more of %s than its clock tells: it is rebuilt", name)
            cold.make_cold(name, redis)
        else:
            marker.restamp(mirror, redis, stale[name], now)
    return is_complete


def _drain_lost(redis: RedisClient, since: datetime, now: str) -> bool:
    """Drain the changes that other incarnations have applied since this time. Return whether none is left."""
    changes.unapply_since(since, now)
    for _ in range(ROUNDS):
        drains.drain_all(redis=redis, until=changes.newest_unapplied() or 0)
        if not changes.unapply_since(since, now):
            return True
    return False
