"""Restore: after a loss of Redis, give it back what SQL has from visits (the last-seen times of sessions).

It runs while the site runs, in slices. The position is stored in Redis, in the slot of the data and with the stamp of
the server, so another loss makes the restore start over. At the end the position becomes the stamp of complete data.
"""

from mirror.read import stamps
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.session import Conflict, Session
from mirror.redis.types import RedisClient
from mirror.relay.drains import Deadline
from mirror.visits.declare import VisitKind, all_kinds


def is_restored(kind: VisitKind, redis: RedisClient) -> bool:
    """Return whether Redis has all data of these visits that SQL has."""
    if not kind.has_restore:
        return True
    stamp = redis.get(naming.visits_restored(kind.beside))
    (is_current,) = stamps.are_current(redis, [stamp])
    return is_current


def restore(kind: VisitKind, seconds: float | None = None, *, redis: RedisClient | None = None) -> bool:
    """Restore what Redis lost, or as much as fits in ``seconds``. Return whether Redis has everything now.

    Concurrent runs and crashes are harmless. Raises the errors of redis-py and Django.
    """
    redis = redis or relay_client()
    deadline = Deadline(seconds)
    if is_restored(kind, redis):
        return True
    while not _restore_slice(kind, redis):
        if deadline.passed():
            return False
    return True


def restore_all(redis: RedisClient | None = None) -> None:
    """Restore what Redis lost of all kinds."""
    for kind in all_kinds():
        restore(kind, redis=redis)


def _restore_slice(kind: VisitKind, redis: RedisClient) -> bool:
    """Restore the rows after the position, and move it. Return whether it was the last slice."""
    place = naming.visits_restoring(kind.beside)
    with Session(redis) as session:
        (found,) = session.ask([("GET", place)])
        stamp = stamps.start(session.incarnation)
        after = stamps.get_text(found, session.incarnation)
        if after is None:
            # The first slice after a loss
            session.ask([("SET", place, stamp)])
            found = stamp.encode()
            after = ""
        following = kind.restore(redis, after)
        is_last = following is None
        # At the end the stamp, without a position, moves to the key that proves complete data.
        done = naming.visits_restored(kind.beside)
        change = ("RENAME", place, done) if is_last else ("SET", place, f"{stamp}{following}")
        try:
            if session.watch_and_ask([place], [("GET", place)]) != [found]:
                # Redis was lost again, or another process was faster.
                return False
            session.execute([change])
        except Conflict:
            return False
    return is_last
