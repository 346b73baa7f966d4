"""Fan-out on write: rows that are pushed into the windows of all who want to see them.

A pushed row's change names the row; whose windows that concerns is worked out as it goes, a slice of owners at a time.
The order of one slice is what makes it right, as in ``mirror.apply``:

1. Redis: take the row's guard; see that the mirror, and those it comes after, are whole.
2. SQL: whose windows the row concerns, and whether it belongs there.
3. Redis: deliver, in transactions that fail when somebody else has taken the guard since (``mirror.deliver``).
4. SQL: note how far it got, or that the change is applied, unless somebody else has.

It can stop between any two steps: the slice is done again, which is harmless. The progress is worth something in the
life of Redis that it was made in; after another one has begun, the row starts over.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from redis.exceptions import NoScriptError

from mirror import deliver, marker, naming, outbox, progress, registry, send, spread
from mirror.conf import milliseconds, setting
from mirror.declare import WindowMirror
from mirror.models import Change
from mirror.redis import relay_client
from mirror.relay import Deadline, raise_if_away, say
from mirror.session import Conflict, Session
from mirror.slices import SLICE, Outcome, Pushed, Slices, Step, no_step

logger = logging.getLogger("mirror")

FIRST: Final = 50  # windows that are reached by the request which made the change
Markers = Mapping[str, bytes]
NONE_KNOWN: Final[Markers] = {}


def step(changes: Sequence[Change], limit: int = SLICE, **options: Any) -> Pushed:
    """Push one slice of ``changes``. As ``run``."""
    return run(changes, limit, goes_on=lambda: False, **options)


def run(
    changes: Sequence[Change],
    limit: int = SLICE,
    *,
    goes_on: Callable[[], bool] = lambda: True,
    redis: Any = None,
    at: Step = no_step,
    known: Markers = NONE_KNOWN,
) -> Pushed:
    """Push slices of up to ``limit`` (at least 2) windows, to the end or as long as it ``goes_on``.

    ``changes`` have mirror and source in common. As many are taken as reach fewer windows than that together; one that
    has been begun is taken alone. ``at`` is called with the name of each step before it. known: markers of another
    life of Redis that are as good as warm (in a replay). Raises redis-py's errors when Redis is away, ProgrammingError
    inside a transaction, and what the declaration's ``reach`` raises.
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
                slices = Slices(session, mirror, changes, limit, at)
                return slices.run(are_whole, goes_on)
        except Conflict:
            slices.deliveries.give_up(redis)
            break
        except NoScriptError:
            if knows_script:
                raise
            deliver.script.load(redis)
    return Pushed(Outcome.LOST)


def first(mirror: str, source: str, keys: Sequence[str], redis: Any) -> bool:
    """What a request does for the rows that it wrote: one small step. Returns whether something is left to do."""
    group = list(progress.pending(mirror, source, keys).filter(cursor=None)[: spread.TOGETHER])
    return bool(group) and not step(group, FIRST, redis=redis).applied == len(group) < spread.TOGETHER


def push_keys(
    mirror: str,
    source: str,
    keys: Sequence[str] = (),
    deadline: Deadline | None = None,
    *,
    redis: Any = None,
    known: Markers = NONE_KNOWN,
    polite: bool = True,
) -> tuple[int, bool]:
    """Push these rows (none: all that are pending), oldest first. Returns changes applied, and whether there is more
    for whoever has the time. A row that fails is counted against, and set aside in the end. polite: leave what others
    are at to them (those who were killed a moment ago, too).
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


def push_all(redis: Any = None) -> int:
    """Push all that is pending. Returns how many changes were applied."""
    return sum(push_keys(mirror, source, redis=redis, polite=False)[0] for mirror, source in registry.pushed())


def replay(mirror: str, redis: Any, known: Markers) -> bool:
    """Push again what was pushed into this mirror's windows, to the end or not, in another life of Redis. Returns
    whether all is done; before, its windows are not what SQL says. known: as for ``run``.
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


def _guarded(group: Sequence[Change], deadline: Deadline, redis: Any, known: Markers) -> tuple[Pushed, set[int]]:
    """Push these together or, where that fails, each alone. Also the ids of those that are to be left for now."""
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


def send_pending(redis: Any) -> None:
    """Have workers push what is pending, whoever was to do it: one task at a time for each kind of row."""
    for mirror, source in registry.pushed():
        if progress.pending(mirror, source).exists():
            lease = _lease(mirror, source)
            if redis.set(lease, "1", px=milliseconds("PUSH_LEASE_SECONDS"), nx=True) and not send.push(mirror, source):
                redis.delete(lease)


def work(mirror: str, source: str, keys: Sequence[str]) -> int:
    """What a worker's task does: a while of it, then another task. Returns how many changes were applied."""
    redis, lease = relay_client(), None if keys else _lease(mirror, source)
    if lease:
        redis.set(lease, "1", px=milliseconds("PUSH_LEASE_SECONDS"))
    deadline = Deadline(float(setting("PUSH_BUDGET_SECONDS")))
    applied, left = push_keys(mirror, source, keys, deadline, redis=redis)
    if left:
        send.push(mirror, source, keys)
    elif lease:
        redis.delete(lease)
    return applied


def _lease(mirror: str, source: str) -> str:
    return naming.lease(f"push:{mirror}:{source}")
