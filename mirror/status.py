"""The status of mirrors, for the command, the health page and the admin."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Count as CountOf
from django.db.models import Max, Min, Q
from django.db.models.functions import Now
from redis.exceptions import ResponseError

from mirror import registry
from mirror.declare.mirrors import Mirror
from mirror.kinds import kind_of
from mirror.models import Change, State
from mirror.outbox import changes, progress
from mirror.outbox.identity import database_identity
from mirror.redis import naming, quick
from mirror.redis.clients import try_redis
from mirror.redis.session import get_pool
from mirror.redis.types import RedisClient
from mirror.utils import moments
from mirror.verify import background
from mirror.verify.background import Position
from mirror.warm import marker, rewind, triggers
from mirror.windows import count as window_count
from mirror.windows.count import Count

__all__ = ["NO_WRITE", "Status", "accepts_writes", "list_cold", "statuses", "warm_mirrors"]
NO_WRITE = "SETRANGE", naming.heartbeat(), 0, ""  # changes nothing, but is refused like every write
UNKNOWN_WARM = None  # Redis could not be asked


@dataclass(frozen=True)
class Status:
    """The status of one mirror. warm None: Redis is away. oldest_pending_seconds 0: nothing is pending.

    rows: in SQL (-1: not counted), or windows in Redis. estimated: there are too many keys to count them. faults:
    of triggers, because of which it cannot be warm. oldest_push_seconds: age of the oldest row whose push is pending
    (None: the mirror has no pushed rows). verified_at, differences: the last complete verification.
    background_rows, background_differences: compared and found in the present pass of the background verification
    (None: not yet begun); background_last: the last of these differences.
    """

    mirror: str
    warm: bool | None
    rows: int
    pending: int
    oldest_pending_seconds: float
    quarantined: int
    layout_version: str
    rebuilding_rows: int | None
    verified_at: str | None
    differences: int | None
    estimated: bool = False
    faults: tuple[str, ...] = ()
    background_rows: int | None = None
    background_differences: int = 0
    background_last: str | None = None
    oldest_push_seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the status for JSON."""
        return asdict(self)


def warm_mirrors(redis: RedisClient | None = None) -> dict[str, bool | None]:
    """Return whether each mirror is warm, in one round trip; None for all when Redis is away."""
    warm, _position = _read_redis(redis)
    return warm


def _read_redis(redis: RedisClient | None = None) -> tuple[dict[str, bool | None], Position]:
    """Return whether each mirror is warm, and the position of the background verification."""
    names = [mirror.name for mirror in registry.all_mirrors()]

    def ask(redis: RedisClient) -> tuple[dict[str, bool | None], Position]:
        # First: if SQL was restored from an older copy, no marker counts.
        rewind.check_once(redis, database_identity())
        pipe = redis.pipeline(transaction=False)
        pipe.get(naming.verification())
        for name in names:
            pipe.get(naming.marker(name))
        position, *found = pipe.execute()
        warm: dict[str, bool | None] = {}
        for name, stored in zip(names, found, strict=True):
            warm[name] = marker.generations(redis, [name], [stored]) is not None
        return warm, background.parse(position)

    return try_redis(ask, lambda: (dict.fromkeys(names, UNKNOWN_WARM), Position("")), warning="", redis=redis)


def rows_of(name: str) -> int | None:
    """Return the number of a mirror's rows in SQL, including filtered ones; 1 for a summary.

    None: the rows belong to no single table and would have to be counted one by one.
    """
    return kind_of(registry.get(name)).count_rows()


def list_cold() -> list[str]:
    """Return the names of the mirrors for which SQL answers; all of them while Redis is away."""
    return [status.mirror for status in statuses(count_rows=False) if not status.warm]


def statuses(*, count_rows: bool = True) -> list[Status]:
    """Return the status of every mirror. count_rows False leaves out the slow counts of tables (rows is -1)."""
    warm, position = _read_redis()
    states = State.objects.using(changes.using()).in_bulk()
    faults = triggers.reasons(states.values())
    outstanding = _find_outstanding()
    windows = window_count.windows() if count_rows else {}
    found: list[Status] = []
    for mirror in registry.all_mirrors():
        name = mirror.name
        count = _count_rows(mirror, windows) if count_rows else NOT_COUNTED
        state = states.get(name)
        status = _make_status(
            mirror, warm[name], state, outstanding.get(name, {}), count, faults.get(name, ()), position
        )
        found.append(status)
    return found


NOT_COUNTED = Count(-1, False)


def _count_rows(mirror: Mirror, windows: Mapping[str, Count]) -> Count:
    if mirror.lists_ids:
        return windows.get(mirror.name, NOT_COUNTED)
    try:
        # A savepoint, so that an error leaves the transaction of a caller usable.
        with transaction.atomic(using=changes.using()):
            return Count(rows_of(mirror.name) or 0, False)
    except DatabaseError:
        # The table is gone, or is one on another server: its faults are reported.
        return NOT_COUNTED


Outstanding = Mapping[str, Any]


def _find_outstanding() -> dict[str, Outstanding]:
    rows = (
        Change.objects.using(changes.using())
        .in_order()
        .order_by()
        .values("mirror")
        .annotate(
            pending=CountOf("id", filter=Q(quarantined_at__isnull=True)),
            quarantined=CountOf("id", filter=Q(quarantined_at__isnull=False)),
            oldest=Min("created_at", filter=Q(quarantined_at__isnull=True)),
            oldest_push=Min("created_at", filter=Q(quarantined_at__isnull=True) & progress.is_pushed()),
            # The clock of SQL, which also wrote ``created_at``: the clocks of hosts may differ.
            now=Max(Now()),
        )
    )
    return {row["mirror"]: row for row in rows}


def _make_status(
    mirror: Mirror,
    warm: bool | None,
    state: State | None,
    outstanding: Outstanding,
    count: Count,
    faults: tuple[str, ...],
    position: Position,
) -> Status:
    is_pushed = any(watch.pushed for watch in mirror.watches)
    if state is None:  # as before the first rebuild
        state = State(mirror=mirror.name, rebuild_token="", rebuild_rows=0)
    return Status(
        mirror=mirror.name,
        # Redis does not know of changes that the triggers missed.
        warm=warm and not faults,
        rows=count.rows,
        estimated=count.estimated,
        pending=outstanding.get("pending", 0),
        oldest_pending_seconds=_compute_age("oldest", outstanding),
        quarantined=outstanding.get("quarantined", 0),
        layout_version=str(mirror.version),
        rebuilding_rows=state.rebuild_rows if state.rebuild_token else None,
        verified_at=moments.to_text(state.verified_at) if state.verified_at else None,
        differences=state.differences,
        faults=faults,
        background_rows=position.rows.get(mirror.name),
        background_differences=position.found.get(mirror.name, 0),
        background_last=position.last.get(mirror.name),
        oldest_push_seconds=_compute_age("oldest_push", outstanding) if is_pushed else None,
    )


def _compute_age(name: str, outstanding: Outstanding) -> float:
    """Return the age of a moment by SQL's clock, in seconds, or 0 without one."""
    moment = outstanding.get(name)
    if moment is None:
        return 0.0
    seconds = (outstanding["now"] - moment).total_seconds()
    return round(max(0.0, seconds), 3)


def accepts_writes(redis: RedisClient) -> bool:
    """Return whether Redis accepts writes, on a cluster each master. It refuses them while its memory or its disk is
    full. Changes nothing.
    """
    return find_refusal(redis) is None


def find_refusal(redis: RedisClient) -> ResponseError | None:
    """Return the error with which Redis, or a master of a cluster, refuses writes, or None if it accepts them."""
    pool = get_pool(redis)
    name, _key, *arguments = NO_WRITE
    commands = [(name, key, *arguments) for key in pool.list_probe_keys()]
    for reply in quick.ask(pool, commands):
        if isinstance(reply, ResponseError):
            return reply
    return None
