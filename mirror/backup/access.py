"""For those who read and write what is backed up, whatever Redis has lost.

>>> values = fetch(carts, ["5f3a"])  # a reader: Redis', with SQL's where Redis lost it
>>> reply = write(carts, ["5f3a"], SCRIPT, [key], [product, 2])  # a writer that builds on what is there
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mirror import naming
from mirror.backup import epoch
from mirror.backup.declare import Backup
from mirror.redis import RedisError, breaker, client, is_away
from mirror.scripts import Script
from mirror.session import Session

logger = logging.getLogger("mirror")
TRIES = 5
COLD = b"COLD"  # what a guarded script answers when it has not done anything (``guard.lua``)


class NotRestored(RuntimeError):
    """Redis was lost again and again while something was to be written to it."""


def fetch(backup: Backup, items: Sequence[str]) -> Mapping[str, Any]:
    """What these items are; left out: there is no such item. Redis' errors never get out.

    One round trip when Redis is known to have nothing older than SQL, and has them all (or ``whole``). What it
    lacks, or may have in an older form, is put back from SQL on the way. With Redis away SQL alone answers.
    """
    if breaker.open():
        return backup.load(items)
    try:
        return _merged(backup, items, client())
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("Redis did not answer, SQL does: %s", error)
        return backup.load(items)


def ensure(backup: Backup, items: Sequence[str], redis: Any = None) -> None:
    """Afterwards Redis has nothing older of these items than SQL. Raises redis-py's errors.

    A script that runs later may find Redis lost anew: ``write`` is for that.
    """
    _merged(backup, items, redis or client())


def write(
    backup: Backup,
    items: Sequence[str],
    script: Script,
    keys: Sequence[str],
    args: Sequence[Any] = (),
    redis: Any = None,
) -> Any:
    """Run a script (made by ``marks.guarded``) that builds on what Redis has of ``items``. Returns its reply.

    One round trip when all is well. It never runs on what is older than SQL's, not even when Redis is lost at that
    very moment: it looks at the marker itself, on a connection that ends with the server. Raises redis-py's errors,
    and then it is not known whether it ran; NotRestored.
    """
    redis = redis or client()
    found = _run(redis, naming.restored(backup.name), "", script, keys, args)
    for _ in range(TRIES):
        if found != COLD:
            return found
        now = epoch.in_redis(backup.name, redis)  # before: if it is the same when the script runs, nothing was lost
        _merged(backup, items, redis)
        found = _run(redis, now.key, now.token, script, keys, args)
    if found == COLD:
        raise NotRestored(f"Redis was lost again and again while something of {backup.name!r} was to be written")
    return found


def _run(redis: Any, marker: str, token: str, script: Script, keys: Sequence[str], args: Sequence[Any]) -> Any:
    """Run the script, if the marker says ``token`` ("": any) in the life of the server that this connection is to."""
    with Session(redis) as session:
        wanted = epoch.start(session.incarnation) + token
        return script.ask(session, [*keys, marker], [*args, wanted, int(bool(token))])


class _Look(NamedTuple):
    values: Mapping[str, Any]
    marked: frozenset[str]
    fresh: bool


def _look(backup: Backup, items: Sequence[str], redis: Any) -> _Look:
    """Values, marks, and whether the marker was good before and after, in one round trip if the backup can."""
    marker, pipe = naming.restored(backup.name), redis.pipeline(transaction=False)
    pipe.get(marker)
    pipe.zmscore(backup.marks(), list(items))
    if backup.asks:
        backup.ask(pipe, items)
        pipe.get(marker)
        before, scores, *replies, after = pipe.execute()
        values = backup.said(items, replies)
    else:
        before, scores = pipe.execute()
        values, after = backup.read(redis, items), redis.get(marker)
    marked = frozenset(i for i, score in zip(items, scores, strict=True) if score is not None)
    return _Look(values, marked, before == after and epoch.trusted(redis, [before])[0])


def _merged(backup: Backup, items: Sequence[str], redis: Any) -> Mapping[str, Any]:
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
    """Redis has it no more, and SQL has not been told yet."""
    return item in look.marked and item not in look.values


def _put_back(backup: Backup, items: Sequence[str], redis: Any) -> Mapping[str, Any]:
    """Put back what SQL has of these items. Returns what Redis says then, of those that SQL has."""
    known = backup.load(items)
    if not known:
        return {}
    backup.put_back(redis, known)
    return backup.read(redis, list(known))
