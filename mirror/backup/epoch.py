"""Markers and epochs of backups, by which a loss of Redis is noticed.

A backup's marker is ``<database identity>|<incarnation>|<epoch>``. While it matches this database and this
incarnation, Redis holds nothing older than SQL. An emptied Redis has no marker, and one that was restored from an
older file has another run id. In both cases everything is restored (``mirror.backup.restore``) in a new epoch.

SQL knows the epoch as well, and refuses values that were read from Redis in an earlier one. Without this, a flush
that read values, paused while Redis was lost and restored, and then continued would silently make SQL newer than
Redis. The order in ``begin`` guarantees it: SQL's epoch is read before Redis is, and replaced only if it is
unchanged. So every process that begins an epoch has read it before its values.
"""

import uuid
from typing import NamedTuple

from django.db import transaction

from mirror.conf import setting
from mirror.models import BackupState
from mirror.read.stamps import are_current as trusted
from mirror.read.stamps import get_text, start
from mirror.redis import naming
from mirror.redis.session import Conflict, Session
from mirror.redis.types import RedisClient

__all__ = ["start", "trusted"]
TRIES = 20


class Over(RuntimeError):
    """The epoch is over: Redis or SQL has changed since it was read."""


class Epoch(NamedTuple):
    """The time since the last loss. restored: everything has been restored since."""

    backup: str
    token: str
    restored: bool

    @property
    def key(self) -> str:
        """Return the key in Redis that holds this epoch."""
        return naming.restored(self.backup) if self.restored else naming.restoring(self.backup)


def using() -> str:
    """Return the alias of the backups' database."""
    return str(setting("DATABASE"))


def begin(backup: str, redis: RedisClient) -> Epoch:
    """Return the present epoch of a backup, or a new one after a loss.

    Raises RuntimeError inside a transaction, redis-py's errors, and Over if other processes keep changing it.
    """
    states = BackupState.objects.using(using())
    for _ in range(TRIES):
        with transaction.atomic(using=using(), durable=True):
            known, _made = states.get_or_create(backup=backup)
        now = in_redis(backup, redis)
        if now.token == known.epoch:
            return now
        anew = {"epoch": now.token, "restore_cursor": None, "restored_items": 0}
        if states.filter(backup=backup, epoch=known.epoch).update(**anew):
            return now
    raise Over(f"Redis was lost again and again under {backup!r}")


def in_redis(backup: str, redis: RedisClient) -> Epoch:
    """Return the epoch that Redis knows, or a new one after a loss."""
    names = [naming.restored(backup), naming.restoring(backup)]
    with Session(redis) as session:
        found = session.ask([("GET", name) for name in names])
        for text, restored in zip(found, (True, False), strict=True):
            if token := get_text(text, session.incarnation):
                return Epoch(backup, token, restored)
        stamp = f"{start(session.incarnation)}{uuid.uuid4().hex}"
        # Of two concurrent processes, the later one wins here, and the other notices it in SQL.
        session.ask([("SET", names[1], stamp)])
        return Epoch(backup, str(get_text(stamp.encode(), session.incarnation)), False)


def finish(epoch: Epoch, redis: RedisClient) -> bool:
    """Set the marker after a complete restore. Return whether Redis is still in this epoch."""
    names = [naming.restored(epoch.backup), naming.restoring(epoch.backup)]
    try:
        with Session(redis) as session:
            found = session.watch_and_ask(names, [("GET", name) for name in names])
            tokens = [get_text(text, session.incarnation) for text in found]
            if tokens[0] != epoch.token and tokens[1] == epoch.token:
                session.execute([("RENAME", names[1], names[0])])
    except Conflict:
        return False
    return epoch.token in tokens
