"""The status of visits, for health pages, metrics and the doctor."""

from dataclasses import asdict, dataclass
from typing import Any

from mirror.read import stamps
from mirror.redis import naming
from mirror.redis.clients import try_redis
from mirror.redis.types import RedisClient
from mirror.visits.declare import VisitKind, all_kinds


@dataclass(frozen=True)
class VisitsStatus:
    """The status of one kind of visits. None: unknown while Redis is away.

    waiting: visits that SQL does not have yet. oldest_seconds: the age of the oldest; 0 without one. restored: Redis
    has all data of these visits that SQL has.
    """

    kind: str
    waiting: int | None = None
    oldest_seconds: float | None = None
    restored: bool | None = None

    def is_late(self, seconds: float) -> bool:
        """Return whether a visit waits for SQL for so long."""
        return (self.oldest_seconds or 0.0) > seconds

    def as_dict(self) -> dict[str, Any]:
        """Return the status for JSON."""
        return asdict(self)


def statuses(*, redis: RedisClient | None = None) -> list[VisitsStatus]:
    """Return the status of all kinds. One round trip, and none without kinds."""
    kinds = all_kinds()
    if not kinds:
        return []

    def list_unknown() -> list[VisitsStatus]:
        return [VisitsStatus(kind.name) for kind in kinds]

    return try_redis(lambda redis: _read_statuses(kinds, redis), list_unknown, warning="", redis=redis)


def _read_statuses(kinds: list[VisitKind], redis: RedisClient) -> list[VisitsStatus]:
    pipe = redis.pipeline(transaction=False)
    for kind in kinds:
        pipe.xlen(kind.keys[0])
        pipe.xrange(kind.keys[0], count=1)
        pipe.get(naming.visits_restored(kind.beside))
    # Redis' own time, which the ids of entries contain
    pipe.time()
    *replies, (seconds, microseconds) = pipe.execute()
    now = seconds * 1000 + microseconds // 1000
    # Three replies for each kind, in the order of the commands
    numbers = replies[0::3]
    oldest_entries = replies[1::3]
    restored = stamps.are_current(redis, replies[2::3])
    found: list[VisitsStatus] = []
    for kind, waiting, oldest, is_restored in zip(kinds, numbers, oldest_entries, restored, strict=True):
        is_complete = is_restored or not kind.has_restore
        found.append(VisitsStatus(kind.name, waiting, _compute_age(now, oldest), is_complete))
    return found


def _compute_age(now: int, oldest: list[tuple[bytes, Any]]) -> float:
    """Return the age of the oldest entry in seconds, by its id, or 0 without one. now: milliseconds since 1970."""
    if not oldest:
        return 0.0
    ((entry_id, _),) = oldest
    milliseconds, _, _ = entry_id.partition(b"-")
    return max(0, now - int(milliseconds)) / 1000
