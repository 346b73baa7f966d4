"""The relay: drains the pending changes of the outbox.

Requests drain their own keys after a commit (``hints``), a Celery task those beyond a request's budget, and the sweep
everything else. All may run at the same time, because ``apply`` puts them in order.
"""

import logging
import math
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from mirror import registry
from mirror.capture import layouts
from mirror.conf import setting
from mirror.declare.mirrors import Mirror
from mirror.extensions import list_extensions
from mirror.kinds import kind_of
from mirror.models import Change
from mirror.outbox import changes as outbox
from mirror.outbox import spread
from mirror.outbox.errors import raise_if_away, say
from mirror.outbox.identity import find_other_prefix
from mirror.redis.clients import relay_client
from mirror.redis.keys import prefix
from mirror.redis.session import Conflict
from mirror.redis.types import RedisClient
from mirror.relay import apply
from mirror.utils.failure_log import FailureLog
from mirror.warm import cold

__all__ = ["drain_keys"]
logger = logging.getLogger("mirror")
SWEEP_BUDGET_SECONDS: Final = 5.0  # time that a sweep may spend on each of its tasks
# How often a request tries again after a conflict. The other drains write the same rows, and the sweep applies the
# changes that they missed. If fifty requests tried until they succeeded, they would wait for each other for seconds:
# 1,000 logins by 50 threads had 20,303 conflicts on the list of last logins, and have 3 with this limit.
HASTY = 3
SLICES = 10  # slices of a source's rows (``spread.SLICE``) before other pending changes are drained
Tried = set[tuple[str, str]]  # mirror and key of rows that are not drained a second time, mostly failed ones


_failures: Final = FailureLog(logger)
_summaries_lock = threading.Lock()


@contextmanager
def lock_summaries(seconds: float) -> Generator[bool, None, None]:
    """Let the threads of this process drain shared summaries one after the other, since the first drain serves all.

    Yield whether this thread got the lock within ``seconds``.
    """
    is_mine = _summaries_lock.acquire(timeout=seconds)
    try:
        yield is_mine
    finally:
        if is_mine:
            _summaries_lock.release()


class Deadline:
    """A point in time. seconds: from now; None: never."""

    def __init__(self, seconds: float | None = None) -> None:
        self._at = None if seconds is None else time.monotonic() + seconds

    def passed(self) -> bool:
        """Return whether the deadline has passed."""
        return self._at is not None and time.monotonic() >= self._at


def drain_all(
    seconds: float | None = None,
    *,
    redis: RedisClient | None = None,
    until: int | None = None,
) -> int:
    """Apply all pending changes, or as many as fit in ``seconds``. Return the number of applied changes.

    Without ``seconds`` and ``until``, rows are pushed as well: see ``windows.push``. until: make one pass over the
    changes up to this id, without waiting for later ones. A failing key is counted, and quarantined after repeated
    errors; it does not stop the others. Raises redis-py's errors when Redis is away; all changes then stay pending.
    """
    deadline = Deadline(seconds)
    redis = redis or relay_client()
    tried: Tried = set()
    if until is not None:
        return _drain_pending(deadline, redis, tried, until)
    unspread: set[int] = set()
    total = 0
    # While a key changes all the time (the likes of a post), a sweep computes it once, unless a request waits for it.
    once: Collection[str] = () if seconds is None else registry.list_unawaited()
    # A pass may append changes: spread ones, and those of chained mirrors. So passes end when one finds nothing.
    while not deadline.passed():
        slices = _spread_some(deadline, unspread)
        applied = _drain_pending(deadline, redis, tried, once=once)
        total += applied
        if not slices and not applied:
            break
    if seconds is None:
        for extension in list_extensions():
            total += extension.drain_all(redis)
    return total


def _spread_some(deadline: Deadline, failed: set[int]) -> int:
    """Spread a few slices of changes with a source, so that other changes are not delayed. Return their number.

    ``failed`` collects the ids of changes that cannot be spread.
    """
    for done in range(SLICES):
        if deadline.passed():
            return done
        group = spread.next_group(failed)
        if not group:
            return done
        failed |= _spread_slice(group)
    return SLICES


def _spread_slice(group: Sequence[Change]) -> set[int]:
    """Spread one slice of these changes together or, after an error, of each key. Return the ids of failing changes."""
    try:
        spread.step(group)
    except registry.UnknownMirror:
        if layouts.is_recorded(group[0].mirror):  # newer code has it
            return {change.id for change in group}
        outbox.mark_applied([change.id for change in group], "")
    except Exception as error:
        raise_if_away(error)
        return _isolate_sources(group, error)
    return set()


def _isolate_sources(group: Sequence[Change], error: Exception) -> set[int]:
    """Spread the changes of each key alone after an error. Count the error if they have one key."""
    by_key: dict[str, list[Change]] = defaultdict(list)
    for change in group:
        by_key[change.key].append(change)
    failed: set[int] = set()
    if len(by_key) > 1:
        for changes in by_key.values():
            failed |= _spread_slice(changes)
        return failed
    first = group[0]
    logger.error("Could not work out what %s touches", first, exc_info=error)
    outbox.failed(first.mirror, first.key, say(error), source=first.source)
    failed.update(change.id for change in group)
    return failed


def _drain_pending(
    deadline: Deadline, redis: RedisClient, tried: Tried, until: float = math.inf, *, once: Collection[str] = ()
) -> int:
    """Make one pass over the pending changes, in the order of their ids. Return the number of applied changes.

    once: the mirrors with keys that are drained once at most.
    """
    # Several batches of each mirror, because the changes of mirrors alternate.
    limit = 4 * int(setting("BATCH"))
    total = 0
    after = 0
    while after < until and not deadline.passed():
        keys, last = outbox.next_keys(after, limit)
        if last is None:
            break
        after = last
        for name, pks in keys.items():
            fresh = [pk for pk in pks if (name, pk) not in tried]
            applied, _ = drain_keys(name, fresh, deadline, redis=redis, tried=tried)
            if name in once:
                tried.update((name, pk) for pk in fresh)
            total += applied
    return total


def has_other_prefix() -> bool:
    """Return whether the relay writes keys with another prefix than this process.

    Its changes are then left to the relay: applied to keys that nobody reads, they would be lost.
    """
    used = find_other_prefix()
    if used is None:
        return False
    text = "Changes are left to the relay: this process has the prefix %r, and the relay writes keys with %r"
    _failures.add("prefix", text, prefix.current(), used)
    return True


def can_share(name: str) -> bool:
    """Return whether one transaction can write rows of this mirror and of others.

    A chained mirror needs the others' rows first.
    """
    if registry.ahead(name) or not registry.is_known(name):
        return False
    return kind_of(registry.get(name)).can_share


def drain_together(rows: Mapping[str, Sequence[str]], redis: RedisClient) -> bool:
    """Drain rows of mirrors that can share a transaction. Return False if they have to be drained mirror by mirror."""
    if has_other_prefix() or not _fit_together(rows):
        return False
    try:
        apply.drain_together(rows, redis=redis, tries=HASTY)
    except Exception as error:
        # Also a conflict: only some of the rows may be contended, and the others are drained one mirror after another.
        raise_if_away(error)
        return False
    return True


def _fit_together(rows: Mapping[str, Sequence[str]]) -> bool:
    """Return whether these rows are few enough for one transaction, and none stands for a whole mirror."""
    size = int(setting("BATCH"))
    count = sum(map(len, rows.values()))
    if count > size:
        return False
    for name, pks in rows.items():
        limit = kind_of(registry.get(name)).limit_batch(size)
        if len(pks) > limit or outbox.WHOLE in pks:
            return False
    return True


def drain_keys(
    name: str,
    pks: Sequence[str],
    deadline: Deadline | None = None,
    *,
    redis: RedisClient | None = None,
    tried: Tried | None = None,
    tries: int = apply.TRIES,
) -> tuple[int, list[str]]:
    """Drain these keys of the mirror ``name`` in batches. Return the number of applied changes, and the keys left.

    Keys are left if they do not fit the deadline. A process with another prefix than that of the relay drains nothing,
    and returns no keys. tried: collects the rows that are not worth a second attempt in this sweep or request, because
    they failed or others write them. tries: attempts after conflicts; with ``HASTY``, contended keys are left to the
    other drains.
    """
    if has_other_prefix():
        return 0, []
    deadline = deadline or Deadline()
    redis = redis or relay_client()
    tried = set() if tried is None else tried
    try:
        mirror = registry.get(name)
    except registry.UnknownMirror:
        _mark_unknown(name, pks)
        return 0, []
    total = 0
    # This key stands for all rows of the mirror, which are then rebuilt.
    if outbox.WHOLE in pks:
        total += cold.apply_whole(mirror, redis)
        pks = [pk for pk in pks if pk != outbox.WHOLE]
    size = kind_of(mirror).limit_batch(int(setting("BATCH")))
    for start in range(0, len(pks), size):
        if deadline.passed():
            return total, list(pks[start:])
        batch = pks[start : start + size]
        total += _drain_batch(mirror, batch, redis, tried, tries)
    return total, []


def _mark_unknown(name: str, pks: Sequence[str]) -> None:
    """Mark the changes of a mirror that no code declares any more."""
    if layouts.is_recorded(name):  # newer code has it
        return
    # Each time the outbox returns a limited number for each key.
    while pending := outbox.pending_of(name, pks):
        ids = [change.id for changes in pending.values() for change in changes]
        outbox.mark_applied(ids, "")


def _drain_batch(mirror: Mirror, pks: Sequence[str], redis: RedisClient, tried: Tried, tries: int) -> int:
    """Drain a batch. If it fails, find the failing keys and count their failures."""
    try:
        return apply.drain(mirror, pks, redis=redis, tries=tries).changes
    except Exception as error:
        raise_if_away(error)
        is_outdated = isinstance(error, outbox.OutdatedLayout)
        is_left_to_others = isinstance(error, Conflict) and tries == HASTY
    if is_outdated or is_left_to_others:
        # Processes with the newer code apply these changes, or the drains that write the same rows.
        tried.update((mirror.name, pk) for pk in pks)
        return 0
    failures: dict[str, Exception] = {}
    total = isolate(mirror, pks, redis, failures)
    for pk, failure in failures.items():
        tried.add((mirror.name, pk))
        # A conflict is no fault of the key.
        if not isinstance(failure, Conflict):
            logger.error("%s %s cannot be mirrored: %s", mirror.name, pk, say(failure), exc_info=failure)
            outbox.failed(mirror.name, pk, say(failure))
    return total


def isolate(
    mirror: Mirror, pks: Sequence[str], redis: RedisClient, failures: dict[str, Exception], *, full: bool = False
) -> int:
    """Drain the keys, halving the batch after an error. Return the number of applied changes.

    Keys that fail alone go into ``failures``.
    """
    if len(pks) == 1:
        try:
            return apply.drain(mirror, pks, redis=redis, full=full).changes
        except Exception as error:
            raise_if_away(error)
            failures[pks[0]] = error
            return 0
    total = 0
    middle = (len(pks) + 1) // 2
    for half in (pks[:middle], pks[middle:]):
        try:
            total += apply.drain(mirror, half, redis=redis, full=full).changes
        except Exception as error:
            raise_if_away(error)
            total += isolate(mirror, half, redis, failures, full=full)
    return total
