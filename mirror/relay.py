"""The relay: takes pending changes out of the outbox and has them drained, whoever asks.

Requests ask for their own keys after commit (``mirror.hints``), a Celery task for what did not fit a
request's budget, beat for everything else. They may all run at once: ``mirror.apply`` puts them in order.
"""

import logging
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db.utils import InterfaceError, OperationalError

from mirror import apply, cold, outbox, registry, spread
from mirror.conf import setting
from mirror.declare import Mirror
from mirror.models import Change
from mirror.redis import is_away, relay_client
from mirror.session import Conflict
from mirror.window_shapes import at_once

logger = logging.getLogger("mirror")
# How often a request tries where others are in the way. They are draining the same rows; what they did not see is
# left to the sweep: fifty requests that tried until they won would wait for one another for seconds.
HASTY = 3
SLICES = 10  # of a source's rows (``spread.SLICE``), before what else is pending has its turn


_turn = threading.Lock()


@contextmanager
def turn(seconds: float) -> Generator[bool, None, None]:
    """Have the threads of this process drain what is everybody's one after the other: what the first has done, the
    next need not. Whether it came to this thread within ``seconds``.
    """
    mine = _turn.acquire(timeout=seconds)
    try:
        yield mine
    finally:
        if mine:
            _turn.release()


class Deadline:
    """When to stop. ``seconds`` None: never."""

    def __init__(self, seconds: float | None = None) -> None:
        self._at = None if seconds is None else time.monotonic() + seconds

    def passed(self) -> bool:
        """Whether the time is over."""
        return self._at is not None and time.monotonic() >= self._at


def drain_all(
    seconds: float | None = None, *, redis: Any = None, until: int | None = None, tries: int = apply.TRIES
) -> int:
    """Apply all pending changes, or as many as fit in ``seconds``. Returns how many were applied.

    With all the time there is, rows are pushed as well: see ``mirror.push``.
    until: go once through the changes up to this id, and wait for nothing that others write meanwhile. A key that
    fails is counted against, and set aside in the end; it stops nobody else. tries: as for ``drain_keys``. Raises
    redis-py's errors when Redis is away: then everything stays pending.
    """
    from mirror.push import push_all

    deadline, redis, total = Deadline(seconds), redis or relay_client(), 0
    tried: set[tuple[str, str]] = set()
    unspread: set[int] = set()
    while not deadline.passed():
        spreads = _spread_some(deadline, unspread) if until is None else 0
        done = _pass(deadline, redis, tried, until, tries)
        total += done
        if until is not None or not (done or spreads):
            break
    if seconds is None and until is None:
        total += push_all(redis)
    return total


def _spread_some(deadline: Deadline, failed: set[int]) -> int:
    """Spread a few slices of changes with a source, then let others have their turn. Returns how many.

    ``failed`` gathers the changes that cannot be spread.
    """
    for done in range(SLICES):
        if deadline.passed() or not (group := spread.next_group(failed)):
            return done
        failed |= _guarded_spread(group)
    return SLICES


def _guarded_spread(group: Sequence[Change]) -> set[int]:
    """Spread one slice of these together or, where that fails, of each alone. Returns those to blame."""
    try:
        spread.step(group)
    except registry.UnknownMirror:
        outbox.mark_applied([change.id for change in group], "")
    except Exception as error:
        raise_if_away(error)
        by_key = {change.key: change for change in group}
        if len(by_key) > 1:
            return set().union(*(_guarded_spread([c for c in group if c.key == key]) for key in by_key))
        logger.exception("Could not work out what %s touches", group[0])
        outbox.failed(group[0].mirror, group[0].key, say(error), source=group[0].source)
        return {change.id for change in group}
    return set()


def _pass(deadline: Deadline, redis: Any, tried: set[tuple[str, str]], until: int | None, tries: int) -> int:
    """Go once through what is pending, in the order of the ids. Returns how many changes were applied."""
    total, after = 0, 0
    while not deadline.passed() and (until is None or after < until):
        keys, last = outbox.next_keys(after, 4 * int(setting("BATCH")))
        if last is None:
            break
        after = last
        for name, pks in keys.items():
            fresh = [pk for pk in pks if (name, pk) not in tried]
            total += drain_keys(name, fresh, deadline, redis=redis, tried=tried, tries=tries)[0]
    return total


def drain_keys(
    name: str,
    pks: Sequence[str],
    deadline: Deadline | None = None,
    *,
    redis: Any = None,
    tried: set[tuple[str, str]] | None = None,
    tries: int = apply.TRIES,
) -> tuple[int, list[str]]:
    """Drain these keys of the mirror ``name`` in batches. Returns changes applied, and keys left over.

    What is left over did not fit the deadline. ``tried`` gathers keys that failed. tries: how often others may be in
    the way; with ``HASTY`` the keys are left to them.
    """
    deadline, redis = deadline or Deadline(), redis or relay_client()
    try:
        mirror = registry.get(name)
    except registry.UnknownMirror:
        while gone := outbox.pending_of(name, pks):
            outbox.mark_applied([c.id for changes in gone.values() for c in changes], "")
        return 0, []
    total, size = 0, at_once(mirror, int(setting("BATCH")))
    if outbox.WHOLE in pks:
        total += cold.obey(mirror, redis)
        pks = [pk for pk in pks if pk != outbox.WHOLE]
    for start in range(0, len(pks), size):
        if deadline.passed():
            return total, list(pks[start:])
        total += _batch(mirror, pks[start : start + size], redis, tried, tries)
    return total, []


def _batch(mirror: Mirror, pks: Sequence[str], redis: Any, tried: set[tuple[str, str]] | None, tries: int) -> int:
    """Drain a batch; if it fails, find the keys that are to blame, and count that against them."""
    try:
        return apply.drain(mirror, pks, redis=redis, tries=tries).changes
    except Exception as error:
        raise_if_away(error)
        if isinstance(error, Conflict) and tries == HASTY:
            if tried is not None:
                tried.update((mirror.name, pk) for pk in pks)
            return 0
    failures: dict[str, Exception] = {}
    total = isolate(mirror, pks, redis, failures)
    for pk, failure in failures.items():
        if tried is not None:
            tried.add((mirror.name, pk))
        if not isinstance(failure, Conflict):  # a conflict is bad luck and no fault: next time
            logger.error("%s %s cannot be mirrored: %s", mirror.name, pk, say(failure), exc_info=failure)
            outbox.failed(mirror.name, pk, say(failure))
    return total


def isolate(
    mirror: Mirror, pks: Sequence[str], redis: Any, failures: dict[str, Exception], *, full: bool = False
) -> int:
    """Drain what can be drained, by halves; the keys that fail alone go into ``failures``. Returns changes applied."""
    if len(pks) == 1:
        try:
            return apply.drain(mirror, pks, redis=redis, full=full).changes
        except Exception as error:
            raise_if_away(error)
            failures[pks[0]] = error
            return 0
    total, middle = 0, (len(pks) + 1) // 2
    for half in (pks[:middle], pks[middle:]):
        try:
            total += apply.drain(mirror, half, redis=redis, full=full).changes
        except Exception as error:
            raise_if_away(error)
            total += isolate(mirror, half, redis, failures, full=full)
    return total


def raise_if_away(error: Exception) -> None:
    """Raise ``error`` again if it says that a server is away, or busy: that is no key's fault."""
    if isinstance(error, (OperationalError, InterfaceError)) or is_away(error):
        raise error


def say(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}"
