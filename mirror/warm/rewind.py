"""Rewind: notice that SQL was restored from an older copy, so that Redis has data which SQL does not have.

Redis remembers two changes of the outbox. Every drain raises the highest *applied* id, in the transaction of its
entries. Every sweep renews the *witness*: the change that was applied last, with its time. A database without these
changes is older than Redis. The witness also recognizes a restored database that has assigned its id again, because
the new change has another time. ``changes.purge`` keeps the witness and all changes after it.
"""

import logging
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import Q, Subquery
from django.db.models.functions import Now

from mirror import registry
from mirror.conf import setting
from mirror.models import Change, Identity
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.keys import prefix
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient
from mirror.utils import moments
from mirror.utils.queries import KeyedQuery, Keys, fetch_all
from mirror.warm import cold

logger = logging.getLogger("mirror")
APPLIED: Final = "applied"
WITNESS: Final = "witness"
_checked: Final[set[str]] = set()  # the databases that this process has checked


def _select_times(pks: Keys) -> Any:
    newest = Change.objects.order_by("-id").values("id")[:1]
    return Change.objects.filter(Q(id__in=pks) | Q(id=Subquery(newest))).order_by().values_list("id", "created_at")


_times: Final = KeyedQuery(Change._meta.get_field("id"), _select_times)  # of given changes and the newest one


def remember(database: str, ids: Iterable[int]) -> Command:
    """Return the command by which a drain of these changes raises the highest applied id."""
    return "ZADD", naming.history(), "GT", max(ids), f"{APPLIED}|{database}|"


def ask() -> Command:
    """Return the command that reads what Redis remembers, for ``check``."""
    return "ZRANGE", naming.history(), 0, -1, "WITHSCORES"


def check(redis: RedisClient, database: str, reply: Any = None) -> bool:
    """Make every mirror cold if SQL lacks a change that Redis remembers. Return whether it does.

    Such a database gets another identity, which the caller has to read again: the database from which it was copied may
    come back, or have a site of its own, and must not believe the markers of the copy.

    database: its identity. reply: to ``ask()``; None: ask now. At most one query without a restore. Raises redis-py's
    errors when Redis is away.
    """
    if not _was_restored(redis, database, reply):
        return False
    Identity.objects.using(changes.using()).filter(uuid=database).update(uuid=uuid.uuid4())
    # Last: after a crash before it, the next check finds the same.
    redis.delete(naming.history())
    return True


def _was_restored(redis: RedisClient, database: str, reply: Any = None) -> bool:
    """Make every mirror cold if SQL lacks a change that Redis remembers, which keeps it. Return whether SQL does."""
    _checked.add(database)
    if reply is None:
        with Session(redis) as session:
            (reply,) = session.ask([ask()])
    remembered = {one.kind: one for one in _read_history(reply) if one.database == database}
    if not remembered:
        return False
    witness = remembered.get(WITNESS)
    newest, witness_time = _read_sql(witness.change if witness else 0)
    for one in remembered.values():
        if not _is_missing(one, newest, witness_time):
            continue
        # Another process may have renewed the witness, and purged the former one, before SQL was asked.
        if redis.zscore(naming.history(), one.member) == one.change:
            logger.error("SQL lacks change %d, which Redis has. It was restored: rebuilding every mirror", one.change)
            _make_everything_cold(redis)
            return True
    return False


def _is_missing(one: "_Remembered", newest: int, witness_time: datetime | None) -> bool:
    """Return whether SQL lacks a change. newest: the highest id in SQL."""
    if one.kind == WITNESS:
        # In UTC, because the time zone of a connection may be changed. Earlier versions wrote it in that zone.
        return witness_time is None or one.time not in (moments.to_text(witness_time), witness_time.isoformat())
    return newest < one.change


def _make_everything_cold(redis: RedisClient) -> None:
    cold.make_all_cold([mirror.name for mirror in registry.all_mirrors()], redis)


def find_others(redis: RedisClient, database: str) -> set[str]:
    """Return the identities of other databases that have the witness or had it since the last sweep of this one."""
    with Session(redis) as session:
        (reply,) = session.ask([ask()])
    witnesses = {one.database for one in _read_history(reply) if one.kind == WITNESS}
    return witnesses - {database}


def check_once(redis: RedisClient, database: str) -> bool:
    """Compare like ``check`` if this process has not: it may have started after a restore, before any relay.

    Every rebuild begins with ``check``, so SQL is only read here. Do the same for keys with another prefix than the
    relay's, which were left there when the prefix changed.
    """
    if database in _checked:
        return False
    return _was_restored(redis, database) or _has_other_prefix(redis)


def _has_other_prefix(redis: RedisClient) -> bool:
    """Make every mirror cold if the relay mirrored to keys with another prefix last. Return whether it did."""
    noted = Identity.objects.using(changes.using()).values_list("prefix", flat=True).first()
    if noted is None or noted == prefix.current():
        return False
    logger.error("Redis has the prefix %r, and the relay used %r: rebuilding every mirror", prefix.current(), noted)
    _make_everything_cold(redis)
    return True


def forget() -> None:
    """Forget that this process has checked, like a new process."""
    _checked.clear()


def renew(redis: RedisClient, database: str) -> int:
    """Make the change that was applied last the witness, and return its id (0 without changes)."""
    applied = Change.objects.using(changes.using()).filter(applied_at__isnull=False)
    last = applied.order_by("-applied_at").values_list("id", "created_at").first()
    if last is None:
        return 0
    change, time = last
    member = f"{WITNESS}|{database}|{moments.to_text(time)}"
    with Session(redis) as session:
        (reply,) = session.ask([ask()])
        former = {one.member: one.change for one in _read_history(reply) if one.kind == WITNESS}
        if former != {member: change}:
            # A purge deletes changes that were applied long ago. The former witness seems to be applied now, because a
            # Redis that comes back from an older file may name it.
            oldest = moments.to_bound(changes.clock() - float(setting("KEEP_SECONDS")))
            applied.filter(id__in=former.values(), applied_at__lt=oldest).update(applied_at=Now())
            commands: list[Command] = [("ZREM", naming.history(), name) for name in former if name != member]
            commands.append(("ZADD", naming.history(), change, member))
            session.execute(commands)
    return int(change)


class _Remembered(NamedTuple):
    """A change that Redis remembers. member: its name in Redis. time: of a witness, as text."""

    member: str
    change: int
    kind: str
    database: str
    time: str


def _read_history(reply: Any) -> Iterator[_Remembered]:
    """Yield the remembered changes in the reply to ``ask``."""
    # RESP3 has a list for each member, RESP2 one flat list.
    is_paired = bool(reply) and isinstance(reply[0], list)
    pairs = reply if is_paired else zip(reply[::2], reply[1::2], strict=True)
    for name, score in pairs:
        member = name.decode()
        kind, database, time = member.split("|")
        yield _Remembered(member, int(float(score)), kind, database, time)


def _read_sql(witness: int) -> tuple[int, datetime | None]:
    """Return the highest id in the outbox (0 without any), and the time of the change with the id ``witness``."""
    using = changes.using()
    (found,) = fetch_all([_times.write([witness], using)], using)
    rows: Any = _times.convert(found, using)
    times = dict(rows)
    return max(times, default=0), times.get(witness)
