"""Read and write backed-up items, even after Redis lost some of them.

>>> values = fetch(positions, ["7"])  # values in Redis, or in SQL where Redis lost them
>>> reply = write(positions, ["7"], SCRIPT, [key], [book, 2])  # a write that depends on the present value
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mirror.backup import epoch, marks
from mirror.backup.declare import Backup
from mirror.cluster.slots import find_slot
from mirror.redis import naming
from mirror.redis.clients import RedisError, client, try_redis
from mirror.redis.scripts import Script
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient

__all__ = ["NotRestored", "ensure", "fetch", "write"]
TRIES = 5
COLD = b"COLD"  # reply of a guarded script that has done nothing (``guard.lua``)


class NotRestored(RedisError):
    """Redis was lost repeatedly during a write."""


def fetch(backup: Backup, items: Sequence[str]) -> Mapping[str, Any]:
    """Return the values of these items, without the items that do not exist. Never raises errors of Redis.

    One round trip if Redis has nothing older than SQL and has all items (or the backup is ``whole``). Items that
    are missing or may be outdated are restored from SQL first. While Redis is away, SQL alone answers.
    """
    return try_redis(lambda redis: _merged(backup, items, redis), lambda: backup.load(items))


def ensure(backup: Backup, items: Sequence[str], redis: RedisClient | None = None) -> None:
    """Make sure that Redis has nothing older than SQL for these items. Raises redis-py's errors.

    Redis may be lost again before a later script runs. Use ``write`` to exclude this.
    """
    _merged(backup, items, redis or client())


def write(
    backup: Backup,
    items: Sequence[str],
    script: Script,
    keys: Sequence[str],
    args: Sequence[Any] = (),
    redis: RedisClient | None = None,
) -> Any:
    """Run a script from ``marks.guarded`` that depends on values of ``items`` in Redis. Return its reply.

    One round trip in the usual case. The script never uses values older than SQL's, even if Redis is lost at this
    moment: it checks the marker itself, on a connection that ends with the server. Raises NotRestored, and
    redis-py's errors, after which the script may or may not have run.
    """
    redis = redis or client()
    notes = marks.make_notes(backup, redis, items)
    found = _run(redis, naming.restored(backup.name), "", script, keys, args, notes)
    for _ in range(TRIES):
        if found != COLD:
            return found
        # read first: if it is unchanged when the script runs, nothing was lost in between
        now = epoch.in_redis(backup.name, redis)
        _merged(backup, items, redis)
        found = _run(redis, now.key, now.token, script, keys, args, notes)
    if found == COLD:
        raise NotRestored(f"Redis was lost again and again while something of {backup.name!r} was to be written")
    return found


def _run(
    redis: RedisClient,
    marker: str,
    token: str,
    script: Script,
    keys: Sequence[str],
    args: Sequence[Any],
    notes: Sequence[Command],
) -> Any:
    """Run the script if the marker has ``token`` ("": any token) in the incarnation of this connection."""
    with Session(redis) as session:
        wanted = epoch.start(session.incarnation) + token
        if session.of_cluster:
            return _run_in_cluster(session, marker, wanted, script, keys, [*args, wanted, int(bool(token))], notes)
        return script.ask(session, [*keys, marker], [*args, wanted, int(bool(token))])


def _run_in_cluster(
    session: Session,
    marker: str,
    wanted: str,
    script: Script,
    keys: Sequence[str],
    args: Sequence[Any],
    notes: Sequence[Command],
) -> Any:
    """Run the script with a copy of the marker in the slot of the keys, which is made if needed, after ``notes``.

    The copy is lost together with the data of its slot. The session refuses servers of another incarnation.
    """
    copy = naming.marker_in(find_slot(keys[0]), marker)
    *_, found = session.ask([*notes, script.command([*keys, copy], args)])
    if found == COLD:
        (text,) = session.ask([("GET", marker)])
        if text is not None and text.decode(errors="replace").startswith(wanted):
            session.ask([("SET", copy, text)])
            found = script.ask(session, [*keys, copy], args)
    return found


class _Look(NamedTuple):
    values: Mapping[str, Any]
    marked: frozenset[str]
    fresh: bool


def _look(backup: Backup, items: Sequence[str], redis: RedisClient) -> _Look:
    """Return values, marks, and whether the marker was valid before and after, in one round trip if possible."""
    marker, pipe = naming.restored(backup.name), redis.pipeline(transaction=False)
    places = list(marks.by_place(backup, redis, items).items())
    pipe.get(marker)
    for place, found in places:
        pipe.zmscore(place, found)
    if backup.asks:
        backup.ask(pipe, items)
        pipe.get(marker)
        before, *replies, after = pipe.execute()
        values = backup.said(items, replies[len(places) :])
    else:
        before, *replies = pipe.execute()
        values, after = backup.read(redis, items), redis.get(marker)
    scored = [
        pair for (_, found), scores in zip(places, replies, strict=False) for pair in zip(found, scores, strict=True)
    ]
    marked = frozenset(item for item, score in scored if score is not None)
    return _Look(values, marked, before == after and epoch.trusted(redis, [before])[0])


def _merged(backup: Backup, items: Sequence[str], redis: RedisClient) -> Mapping[str, Any]:
    if not items:
        return {}
    look = _look(backup, items, redis)
    if look.fresh and backup.whole:
        return look.values
    lacking = [i for i in items if not (look.fresh and i in look.values) and not _was_deleted(i, look)]
    if not lacking:
        return look.values
    return {**look.values, **_put_back(backup, lacking, redis)}


def _was_deleted(item: str, look: _Look) -> bool:
    """Return whether Redis has deleted the item and SQL does not know it yet."""
    return item in look.marked and item not in look.values


def _put_back(backup: Backup, items: Sequence[str], redis: RedisClient) -> Mapping[str, Any]:
    """Restore these items from SQL. Return their values in Redis, for the items that SQL has."""
    known = backup.load(items)
    if not known:
        return {}
    backup.put_back(redis, known)
    return backup.read(redis, list(known))
