"""Fan-out on write: rows are pushed into the windows of their readers.

A pushed row's change names the row. The windows that it concerns are determined during the push, for one slice of
owners at a time. Correctness depends on the order of the steps of a slice, as in ``mirror.relay.apply``:

1. Redis: take the row's guard; check that the mirror, and those it depends on, are warm.
2. SQL: read which windows the row concerns, and whether it belongs there.
3. Redis: deliver, in transactions that fail if another process has taken the guard since (``mirror.windows.deliver``).
4. SQL: save the cursor, or mark the change as applied, unless another process has done so.

After a crash between any two steps the slice is repeated, which is harmless. Progress is valid only in the
incarnation of Redis in which it was made. In another one, the push starts over.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from redis.exceptions import NoScriptError

from mirror import registry
from mirror.models import Change
from mirror.outbox import changes as outbox
from mirror.outbox import progress, spread
from mirror.outbox.errors import raise_if_away, say
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.session import Conflict, Session
from mirror.redis.types import RedisClient
from mirror.relay import send
from mirror.relay.drains import Deadline, has_other_prefix
from mirror.utils.callbacks import Step, ignore
from mirror.warm import marker
from mirror.windows import deliver
from mirror.windows.declare import WindowMirror
from mirror.windows.slices import SLICE, Outcome, Pushed, Slices

logger = logging.getLogger("mirror")
PUSH_LEASE_SECONDS: Final = 5.0  # how long a push task may run before the sweep sends another
PUSH_BUDGET_SECONDS: Final = 0.5  # time that a push task may take before the next task in the queue runs

FIRST: Final = 50  # windows reached by the request that made the change
Markers = Mapping[str, bytes]
NONE_KNOWN: Final[Markers] = {}


def push_slice(changes: Sequence[Change], limit: int | None = None, **options: Any) -> Pushed:
    """Push one slice of ``changes``, like ``push_slices``."""
    return push_slices(changes, limit, goes_on=lambda: False, **options)


def push_slices(
    changes: Sequence[Change],
    limit: int | None = None,
    *,
    goes_on: Callable[[], bool] = lambda: True,
    redis: RedisClient | None = None,
    at: Step = ignore,
    known: Markers = NONE_KNOWN,
) -> Pushed:
    """Push slices to the end, or as long as ``goes_on`` returns True.

    ``changes`` share mirror and source. limit: windows in a slice, at least 2 (None: ``SLICE``). As many changes are
    pushed together as concern fewer windows; one that has begun is continued alone. at: called with the name of each
    step before it. known: markers of another incarnation that count as warm (in a replay). Raises redis-py's errors
    when Redis is away, ProgrammingError inside a transaction, and errors of the declaration's ``reach``.
    """
    outbox.refuse_transaction()
    redis = redis or relay_client()
    mirror = registry.get(changes[0].mirror)
    assert isinstance(mirror, WindowMirror)

    def are_whole(names: Sequence[str], markers: Sequence[bytes | None]) -> bool:
        # The known ones are not checked: they are of another incarnation, and therefore not valid.
        doubtful = _find_unknown(names, markers, known)
        return marker.generations(redis, list(doubtful), list(doubtful.values())) is not None

    # The calls of a transaction cannot be repeated one by one, so the slice begins again once the script is loaded.
    for knows_script in (False, True):
        try:
            with Session(redis) as session:
                slices = Slices(session, mirror, changes, limit or SLICE, at)
                return slices.push_changes(are_whole, goes_on)
        except Conflict:
            slices.deliveries.give_up(redis)
            break
        except NoScriptError:
            if knows_script:
                raise
            deliver.script.load(redis)
    return Pushed(Outcome.LOST)


def _find_unknown(names: Sequence[str], markers: Sequence[bytes | None], known: Markers) -> dict[str, bytes | None]:
    """Return the markers that are missing or differ from the known ones, by mirror."""
    found = zip(names, markers, strict=True)
    return {name: text for name, text in found if text is None or known.get(name) != text}


def push_first(mirror: str, source: str, keys: Sequence[str], redis: RedisClient) -> bool:
    """Push one small slice of the rows that a request wrote. Return whether work is left."""
    begun_by_none = progress.pending(mirror, source, keys).filter(cursor=None)
    group = list(begun_by_none[: spread.TOGETHER])
    if not group:
        return False
    pushed = push_slice(group, FIRST, redis=redis)
    if len(group) == spread.TOGETHER:
        # The request may have written further rows.
        return True
    return pushed.applied < len(group)


def push_keys(
    mirror: str,
    source: str,
    keys: Sequence[str] = (),
    deadline: Deadline | None = None,
    *,
    redis: RedisClient | None = None,
    known: Markers = NONE_KNOWN,
    polite: bool = True,
) -> tuple[int, bool]:
    """Push these rows (none: all pending ones), oldest first. Return the applied changes' number and whether work
    is left.

    A failing row is counted, and quarantined after repeated errors. polite: skip rows that another process is
    pushing or was pushing when it was killed a moment ago.
    """
    if has_other_prefix():
        return 0, False
    deadline = deadline or Deadline()
    redis = redis or relay_client()
    total = 0
    skipped: set[int] = set()
    pending = progress.pending(mirror, source, keys)
    while found := list(pending.exclude(id__in=skipped)[: spread.TOGETHER]):
        if polite:
            skipped |= _find_busy(found, redis)
        free = [change for change in found if change.id not in skipped]
        group = spread.together(free)
        if not group:
            continue
        if deadline.passed():
            return total, True
        pushed, failed = _push_group(group, deadline, redis, known)
        if pushed.outcome is Outcome.COLD:
            # A task sent now would find the same, so nothing counts as left: the sweep sends the next one.
            break
        total += pushed.applied
        skipped |= failed
    return total, False


def _find_busy(changes: Sequence[Change], redis: RedisClient) -> set[int]:
    """Return the ids of the changes whose rows another process pushes."""
    rows = [change.key for change in changes]
    busy = deliver.find_busy(redis, changes[0].mirror, rows)
    return {change.id for change in changes if change.key in busy}


def push_all(redis: RedisClient | None = None) -> int:
    """Push all pending rows. Return the number of applied changes."""
    total = 0
    for mirror, source in registry.pushed():
        applied, _ = push_keys(mirror, source, redis=redis, polite=False)
        total += applied
    return total


def repeat_pushes(mirror: str, redis: RedisClient, known: Markers) -> bool:
    """Repeat the pushes that another incarnation received for this mirror. Return whether all are done.

    Until then, its windows differ from SQL. known: as for ``push_slices``.
    """
    sources = [source for name, source in registry.pushed() if name == mirror]
    return all(_repeat_source(mirror, source, redis, known) for source in sources)


def _repeat_source(mirror: str, source: str, redis: RedisClient, known: Markers) -> bool:
    lost = progress.in_another_life(mirror, source)
    while group := list(lost[: spread.TOGETHER]):
        keys = [change.key for change in group]
        applied, _ = push_keys(mirror, source, keys, redis=redis, known=known, polite=False)
        if not applied:
            # A mirror is cold, or the rows fail: the same rows would be found again.
            break
    return not lost.exists()


def _push_group(
    group: Sequence[Change], deadline: Deadline, redis: RedisClient, known: Markers
) -> tuple[Pushed, set[int]]:
    """Push these changes together or, after an error, one by one. Also return the ids of those to skip for now."""
    try:
        pushed = push_slices(group, goes_on=lambda: not deadline.passed(), redis=redis, known=known)
    except Exception as error:
        raise_if_away(error)
        if len(group) > 1:
            return _push_one_by_one(group, deadline, redis, known)
        logger.exception("%s cannot be pushed", group[0])
        outbox.failed(group[0].mirror, group[0].key, say(error), source=group[0].source)
        return Pushed(Outcome.MORE), {group[0].id}
    skipped: set[int] = set()
    if pushed.outcome is Outcome.LOST:
        # Another process pushes these rows, and would be disturbed again.
        skipped.update(change.id for change in group)
    return pushed, skipped


def _push_one_by_one(
    group: Sequence[Change], deadline: Deadline, redis: RedisClient, known: Markers
) -> tuple[Pushed, set[int]]:
    applied = 0
    skipped: set[int] = set()
    for change in group:
        pushed, failed = _push_group([change], deadline, redis, known)
        applied += pushed.applied
        skipped |= failed
    return Pushed(Outcome.MORE, applied), skipped


def send_pending(redis: RedisClient) -> None:
    """Send workers one push task for each kind of row that has pending pushes, unless such a task is running."""
    for mirror, source in registry.pushed():
        if progress.pending(mirror, source).exists():
            _send_push(mirror, source, redis)


def _send_push(mirror: str, source: str, redis: RedisClient) -> None:
    lease = _name_lease(mirror, source)
    if not redis.set(lease, "1", px=int(PUSH_LEASE_SECONDS * 1000), nx=True):
        # Such a task is running.
        return
    if not send.push(mirror, source):
        # No task was sent, so the next sweep tries again at once.
        redis.delete(lease)


def work(mirror: str, source: str, keys: Sequence[str]) -> int:
    """Do the work of a push task: push for a while, then send another task. Return the number of applied changes."""
    redis = relay_client()
    lease = None if keys else _name_lease(mirror, source)
    if lease:
        # In any case, not NX: the lease of the sender may have expired while this task was in the queue.
        redis.set(lease, "1", px=int(PUSH_LEASE_SECONDS * 1000))
    deadline = Deadline(PUSH_BUDGET_SECONDS)
    applied, left = push_keys(mirror, source, keys, deadline, redis=redis)
    if left:
        send.push(mirror, source, keys)
    elif lease:
        redis.delete(lease)
    return applied


def _name_lease(mirror: str, source: str) -> str:
    return naming.lease(f"push:{mirror}:{source}")
