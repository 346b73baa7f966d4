"""Gauges: the present state of all mirrors and visits, from the same status as ``mirror status``."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mirror import registry
from mirror.redis import naming
from mirror.redis.clients import try_redis
from mirror.redis.types import RedisClient
from mirror.status import statuses
from mirror.visits import status as visits_status


class Gauge(NamedTuple):
    """A value of one mirror or kind of visits at this moment."""

    name: str
    labels: Mapping[str, str]
    value: float


TEXTS = {
    "mirror_warm": "1: Redis answers reads of this mirror. 0: SQL does.",
    "mirror_in_doubt": "1: strict readers ask SQL for pending changes, because no relay has written a heartbeat.",
    "mirror_pending": "Changes that are not applied yet.",
    "mirror_lag_seconds": "Age of the oldest pending change.",
    "mirror_fanout_lag_seconds": "Age of the oldest pushed row that has not reached all windows.",
    "mirror_quarantined": "Changes that are excluded from drains after repeated errors.",
    "mirror_differences": "Differences that the last verification found.",
    "mirror_visits_waiting": "Visits that SQL does not have yet.",
    "mirror_visits_lag_seconds": "Age of the oldest of these visits.",
}


def measure() -> Iterator[Gauge]:
    """Yield all gauges, without those that are unknown while Redis is away. Raises Django's database errors."""
    has_heartbeat = try_redis(_has_heartbeat, lambda: None, warning="")
    is_in_doubt = None if has_heartbeat is None else not has_heartbeat
    for status in statuses(count_rows=False):
        found = {
            "warm": status.warm,
            # Readers of other mirrors need no heartbeat.
            "in_doubt": is_in_doubt if registry.is_strict(status.mirror) else None,
            "pending": status.pending,
            "lag_seconds": status.oldest_pending_seconds,
            "fanout_lag_seconds": status.oldest_push_seconds,
            "quarantined": status.quarantined,
            "differences": status.differences,
        }
        yield from _make_gauges("mirror", {"mirror": status.mirror}, found)
    for visits in visits_status.statuses():
        found = {"waiting": visits.waiting, "lag_seconds": visits.oldest_seconds}
        yield from _make_gauges("mirror_visits", {"kind": visits.kind}, found)


def _has_heartbeat(redis: RedisClient) -> bool | None:
    return bool(redis.exists(naming.heartbeat()))


def _make_gauges(start: str, labels: Mapping[str, str], found: Mapping[str, float | None]) -> Iterator[Gauge]:
    for name, value in found.items():
        if value is not None:
            yield Gauge(f"{start}_{name}", labels, float(value))
