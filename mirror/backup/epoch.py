"""Noticing that Redis was lost: markers of backups, and epochs.

A backup's marker reads ``<database identity>|<incarnation>|<epoch>``. While it says so in this database and this life
of the server, Redis holds nothing that is older than what SQL holds. An emptied Redis has no marker, and one that came
back from an older file has another run id; then everything is restored (``mirror.backup.restore``) in a new epoch.

SQL knows the epoch as well, and writes nothing that was read from Redis in an earlier one: a flusher that has read,
stood still while Redis was lost and restored, and goes on, would make SQL newer than Redis without anybody's notice.
What makes this right is the order of ``begin``: SQL's epoch is read before Redis is looked at, and replaced only if
it is still that one; whoever takes up an epoch read it before what he read from Redis.
"""

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import transaction

from mirror import marker, naming
from mirror.conf import setting
from mirror.models import BackupState
from mirror.redis import incarnation
from mirror.session import Conflict, Session

TRIES = 20


class Over(RuntimeError):
    """The epoch is over: Redis, or SQL, is no longer the one that was read from."""


class Epoch(NamedTuple):
    """The time since the last loss. restored: everything has been put back since."""

    backup: str
    token: str
    restored: bool

    @property
    def key(self) -> str:
        """The key that says so in Redis."""
        return naming.restored(self.backup) if self.restored else naming.restoring(self.backup)


def start(incarnation_now: str) -> str:
    """What a marker begins with that is believed in this life of the server."""
    return f"{marker.database_identity()}|{incarnation_now}|"


def trusted(redis: Any, found: Sequence[bytes | None]) -> list[bool]:
    """Whether each of these markers, as read from Redis, can be believed."""
    now = incarnation(redis)
    result = [_token(text, now) is not None for text in found]
    doubtful = any(text is not None and not good for text, good in zip(found, result, strict=True))
    if doubtful and marker.may_ask(redis.connection_pool):  # connections may be older than the server's present name
        now = incarnation(redis, ask=True)
        result = [_token(text, now) is not None for text in found]
    return result


def _token(found: bytes | None, incarnation_now: str) -> str | None:
    if found is None:
        return None
    text, wanted = found.decode(errors="replace"), start(incarnation_now)
    return text.removeprefix(wanted) if text.startswith(wanted) else None


def using() -> str:
    """The database that backups are kept in."""
    return str(setting("DATABASE"))


def begin(backup: str, redis: Any) -> Epoch:
    """The present epoch of a backup; after a loss, a new one.

    Raises RuntimeError inside a transaction, redis-py's errors, and Over when others change it again and again.
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


def in_redis(backup: str, redis: Any) -> Epoch:
    """The epoch that Redis knows of; after a loss, a new one."""
    names = [naming.restored(backup), naming.restoring(backup)]
    with Session(redis) as session:
        found = session.ask([("GET", name) for name in names])
        for text, restored in zip(found, (True, False), strict=True):
            if token := _token(text, session.incarnation):
                return Epoch(backup, token, restored)
        stamp = f"{start(session.incarnation)}{uuid.uuid4().hex}"
        # Two at once: the later one has it, and the other notices in SQL.
        session.ask([("SET", names[1], stamp)])
        return Epoch(backup, str(_token(stamp.encode(), session.incarnation)), False)


def finish(epoch: Epoch, redis: Any) -> bool:
    """Everything has been put back: set the marker, if Redis still is in this epoch. Returns whether it is."""
    names = [naming.restored(epoch.backup), naming.restoring(epoch.backup)]
    try:
        with Session(redis) as session:
            found = session.watch_and_ask(names, [("GET", name) for name in names])
            tokens = [_token(text, session.incarnation) for text in found]
            if tokens[0] != epoch.token and tokens[1] == epoch.token:
                session.execute([("RENAME", names[1], names[0])])
    except Conflict:
        return False
    return epoch.token in tokens
