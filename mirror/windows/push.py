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
from mirror.relay.drains import Deadline
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


def step(changes: Sequence[Change], limit: int | None = None, **options: Any) -> Pushed:
    """Push one slice of ``changes``, like ``run``."""
    return run(changes, limit, goes_on=lambda: False, **options)


def run(
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
    redis, mirror = redis or relay_client(), registry.get(changes[0].mirror)
    assert isinstance(mirror, WindowMirror)

    def are_whole(names: Sequence[str], found: Sequence[bytes | None]) -> bool:
        others = [pair for pair in zip(names, found, strict=True) if pair[1] is None or known.get(pair[0]) != pair[1]]
        return marker.generations(redis, [name for name, _ in others], [text for _, text in others]) is not None

    for knows_script in (False, True):
        try:
            with Session(redis) as session:
                slices = Slices(session, mirror, changes, limit or SLICE, at)
                return slices.run(are_whole, goes_on)
        except Conflict:
            slices.deliveries.give_up(redis)
            break
        except NoScriptError:
            if knows_script:
                raise
            deliver.script.load(redis)
    return Pushed(Outcome.LOST)


def first(mirror: str, source: str, keys: Sequence[str], redis: RedisClient) -> bool:
    """Push one small slice of the rows that a request wrote. Return whether work is left."""
    group = list(progress.pending(mirror, source, keys).filter(cursor=None)[: spread.TOGETHER])
    return bool(group) and not step(group, FIRST, redis=redis).applied == len(group) < spread.TOGETHER


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
    deadline, redis, total, leave = deadline or Deadline(), redis or relay_client(), 0, set[int]()
    while found := list(progress.pending(mirror, source, keys).exclude(id__in=leave)[: spread.TOGETHER]):
        busy = deliver.busy(redis, mirror, [change.key for change in found]) if polite else set[str]()
        leave |= {change.id for change in found if change.key in busy}
        if group := spread.together([change for change in found if change.key not in busy]):
            if deadline.passed():
                return total, True
            pushed, failed = _guarded(group, deadline, redis, known)
            if pushed.outcome is Outcome.COLD:
                break
            total += pushed.applied
            leave |= failed
    return total, False


def push_all(redis: RedisClient | None = None) -> int:
    """Push all pending rows. Return the number of applied changes."""
    return sum(push_keys(mirror, source, redis=redis, polite=False)[0] for mirror, source in registry.pushed())


def replay(mirror: str, redis: RedisClient, known: Markers) -> bool:
    """Repeat the pushes that another incarnation received for this mirror. Return whether all are done.

    Until then, its windows differ from SQL. known: as for ``run``.
    """
    for source in (source for name, source in registry.pushed() if name == mirror):
        lost = progress.in_another_life(mirror, source)
        while group := list(lost[: spread.TOGETHER]):
            keys = [change.key for change in group]
            if not push_keys(mirror, source, keys, redis=redis, known=known, polite=False)[0]:
                break
        if lost.exists():
            return False
    return True


def _guarded(
    group: Sequence[Change], deadline: Deadline, redis: RedisClient, known: Markers
) -> tuple[Pushed, set[int]]:
    """Push these changes together or, after an error, one by one. Also return the ids of those to skip for now."""
    try:
        pushed = run(group, goes_on=lambda: not deadline.passed(), redis=redis, known=known)
        return pushed, {change.id for change in group} if pushed.outcome is Outcome.LOST else set()
    except Exception as error:
        raise_if_away(error)
        if len(group) > 1:
            alone = [_guarded([change], deadline, redis, known) for change in group]
            applied = sum(pushed.applied for pushed, _ in alone)
            return Pushed(Outcome.MORE, applied), set().union(*(failed for _, failed in alone))
        logger.exception("%s cannot be pushed", group[0])
        outbox.failed(group[0].mirror, group[0].key, say(error), source=group[0].source)
        return Pushed(Outcome.MORE), {group[0].id}


def send_pending(redis: RedisClient) -> None:
    """Send workers one push task for each kind of row that has pending pushes, unless such a task is running."""
    for mirror, source in registry.pushed():
        if progress.pending(mirror, source).exists():
            lease = _lease(mirror, source)
            if redis.set(lease, "1", px=int(PUSH_LEASE_SECONDS * 1000), nx=True) and not send.push(mirror, source):
                redis.delete(lease)


def work(mirror: str, source: str, keys: Sequence[str]) -> int:
    """Do the work of a push task: push for a while, then send another task. Return the number of applied changes."""
    redis, lease = relay_client(), None if keys else _lease(mirror, source)
    if lease:
        redis.set(lease, "1", px=int(PUSH_LEASE_SECONDS * 1000))
    deadline = Deadline(PUSH_BUDGET_SECONDS)
    applied, left = push_keys(mirror, source, keys, deadline, redis=redis)
    if left:
        send.push(mirror, source, keys)
    elif lease:
        redis.delete(lease)
    return applied


def _lease(mirror: str, source: str) -> str:
    return naming.lease(f"push:{mirror}:{source}")
