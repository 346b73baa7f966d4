"""The status of backups, for the command, the health page and the admin."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

from mirror.backup import epoch, marks, registry
from mirror.backup.declare import Backup
from mirror.models import BackupState
from mirror.redis import naming
from mirror.redis.clients import try_redis
from mirror.redis.types import RedisClient
from mirror.utils import moments

__all__ = ["statuses"]
ERRORS = 10  # maximum number of errors in a status


@dataclass(frozen=True)
class BackupStatus:
    """The status of one backup. None: unknown while Redis is away, or it never happened.

    marked: items that SQL does not have yet. oldest_mark_seconds 0: no marks. set_aside: quarantined items; errors:
    of some of them. warm: Redis has nothing older than SQL. restored_items: progress, if not warm.
    """

    backup: str
    warm: bool | None
    marked: int | None
    oldest_mark_seconds: float | None
    set_aside: int | None
    last_flush: str | None
    every_seconds: float
    whole: bool
    restored_items: int | None
    verified_at: str | None
    differences: int | None
    errors: dict[str, str] = field(default_factory=dict)

    def is_late(self, seconds: float) -> bool:
        """Return whether a marked item waits for SQL for so long after it was due."""
        return (self.oldest_mark_seconds or 0.0) > self.every_seconds + seconds

    def as_dict(self) -> dict[str, Any]:
        """Return the status for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _InRedis:
    warm: bool | None = None
    marked: int | None = None
    oldest: float | None = None
    aside: int | None = None
    errors: dict[str, str] = field(default_factory=dict)


def statuses(backups: Sequence[Backup] | None = None, *, redis: RedisClient | None = None) -> list[BackupStatus]:
    """Return the status of these backups (all by default)."""
    backups = registry.all_backups() if backups is None else backups
    states = BackupState.objects.using(epoch.using()).in_bulk()
    found = try_redis(lambda redis: _ask_all(backups, redis), dict[str, _InRedis], warning="", redis=redis)
    return [_status(b, found.get(b.name, _InRedis()), states.get(b.name)) for b in backups]


class _Replies(NamedTuple):
    """The replies of Redis for one backup: oldest has the oldest mark, if any."""

    restored: bytes | None
    marked: int
    aside: int
    oldest: Any

    @classmethod
    def take(cls, replies: Iterator[Any], places: int) -> Self:
        """Return the next replies: the marker, and three for each key of marks."""
        restored = next(replies)
        rows = [(next(replies), next(replies), next(replies)) for _ in range(places)]
        marked, aside, oldest = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(restored, sum(marked), sum(aside), min((o for o in oldest if o), key=lambda o: o[0][1], default=[]))


def _ask_all(backups: Sequence[Backup], redis: RedisClient) -> dict[str, _InRedis]:
    """Return the replies of Redis for each backup.

    Two round trips, and one more for each backup with quarantined items.
    """
    if not backups:
        return {}
    places = {backup.name: marks.places(backup, redis) for backup in backups}
    pipe = redis.pipeline(transaction=False)
    pipe.time()
    for backup in backups:
        pipe.get(naming.restored(backup.name))
        for place in places[backup.name]:
            pipe.zcount(place, "(0", "+inf")
            pipe.zcount(place, "-inf", "(0")
            pipe.zrangebyscore(place, "(0", "+inf", start=0, num=1, withscores=True)
    (seconds, micros), *replies = pipe.execute()
    now, left = seconds * 1_000_000 + micros, iter(replies)
    found = [_Replies.take(left, len(places[backup.name])) for backup in backups]
    warm = epoch.trusted(redis, [each.restored for each in found])
    return {
        backup.name: _InRedis(good, row.marked, _age(now, row.oldest), row.aside, _errors(backup, redis, row.aside))
        for backup, row, good in zip(backups, found, warm, strict=True)
    }


def _age(now: int, oldest: Any) -> float:
    return round(max(0, now - int(oldest[0][1])) / 1e6, 3) if oldest else 0.0


def _errors(backup: Backup, redis: RedisClient, aside: int) -> dict[str, str]:
    return marks.errors(backup, redis, ERRORS) if aside else {}


def _status(backup: Backup, said: _InRedis, state: BackupState | None) -> BackupStatus:
    return BackupStatus(
        backup=backup.name,
        warm=said.warm,
        marked=said.marked,
        oldest_mark_seconds=said.oldest,
        set_aside=said.aside,
        last_flush=moments.to_text(state.flushed_at) if state and state.flushed_at else None,
        every_seconds=backup.every_seconds,
        whole=backup.whole,
        restored_items=state.restored_items if state and said.warm is False else None,
        verified_at=moments.to_text(state.verified_at) if state and state.verified_at else None,
        differences=state.differences if state else None,
        errors=said.errors,
    )
