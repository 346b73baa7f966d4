"""Hints: after a commit, the process that made the changes drains its own keys at once.

A lost hint is harmless because the outbox has the change. So hints must not fail or delay the caller: they have a
budget, and the remaining keys go to a Celery task or wait for the sweep.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Iterable

from django.db import Error as DatabaseError
from django.db import transaction

from mirror import registry
from mirror.conf import setting
from mirror.outbox import chains, changes, spread
from mirror.redis.clients import breaker, try_redis
from mirror.redis.types import RedisClient
from mirror.relay import drains, send
from mirror.windows import push

logger = logging.getLogger("mirror")

Group = tuple[str, str]  # mirror, source
MOST = 2000  # maximum number of keys in one transaction's hints; the sweep drains the others


class _Due(threading.local):
    """The keys hinted in this thread since the last flush. Rolled-back ones are included, which is harmless."""

    def __init__(self) -> None:
        self.keys: dict[Group, set[str]] = defaultdict(set)
        self.count = 0


_due = _Due()


def hint(mirror: str, source: str, keys: Iterable[str]) -> None:
    """Drain these keys after the commit of the present transaction, or now without one.

    Each call registers its own ``on_commit``. A flag for the transaction would survive the rollback of a savepoint
    and suppress later hints. The first callback drains all keys, and the others find none.
    """
    if _due.count < MOST:
        group = _due.keys[mirror, source]
        before = len(group)
        group.update(keys)
        _due.count += len(group) - before
    transaction.on_commit(flush, using=changes.using(), robust=True)


def flush() -> None:
    """Drain the hinted keys within the budget. Never raises errors of Redis, SQL or the broker."""
    if not _due.keys:
        return
    due, _due.keys, _due.count = _due.keys, defaultdict(set), 0
    deadline = drains.Deadline(float(setting("BUDGET_SECONDS")))
    left: dict[str, list[str]] = defaultdict(list)
    while due:
        mirror, source = group = min(due, key=_order)
        done, rest = _drain(mirror, source, sorted(due.pop(group)), deadline)
        for name, owners in chains.owners(mirror, set(done)).items():
            due[name, ""] |= owners
        if breaker.open():
            return  # workers could not write to Redis either, and a hung broker would cost another time-out
        if rest and (mirror, source) in registry.pushed():
            send.push(mirror, source, rest)
        elif rest and source:
            send.sweep()  # a sweep begins with changes of sources
        else:
            left[mirror] += rest
    for mirror, rest in left.items():
        if rest:
            send.drain(mirror, rest)


def _order(group: Group) -> tuple[bool, bool, int, Group]:
    """Sort groups so that each is drained after those on which it depends.

    Summaries come last, because other drains may delay them. Windows come after records, which decide whether a
    reader shows an id in a window. Chained mirrors come after those they depend on.
    """
    mirror, ahead = group[0], registry.all_ahead(group[0])
    return any(map(registry.sums_up, (mirror, *ahead))), registry.is_window(mirror), len(ahead), group


def _drain(mirror: str, source: str, keys: list[str], deadline: drains.Deadline) -> tuple[list[str], list[str]]:
    """Drain a group. Return the drained rows, and the keys that remain (for a source: its keys, or rows)."""

    def drain(redis: RedisClient) -> tuple[list[str], list[str]]:
        if (mirror, source) in registry.pushed():
            # One slice, which reaches the authors' windows and a few others. No chained mirror follows.
            is_left = deadline.passed() or push.first(mirror, source, keys, redis)
            return [], keys if is_left else []
        if source:
            return _drain_source(redis, mirror, source, keys, deadline)
        return _drain_rows(redis, mirror, keys, deadline)

    try:
        return try_redis(drain, lambda: ([], keys), logger, "Redis did not answer, the relay will catch up: %s")
    except DatabaseError as error:
        logger.warning("SQL did not answer, the relay will catch up: %s", error)
    except Exception:  # an error of the declaration; the relay finds the failing key, and the other hints continue
        logger.exception("%s could not be drained, the relay will see to it", mirror)
    return [], keys


def _drain_rows(
    redis: RedisClient, mirror: str, keys: list[str], deadline: drains.Deadline
) -> tuple[list[str], list[str]]:
    rest = drains.drain_keys(mirror, keys, deadline, redis=redis, tries=drains.HASTY)[1]
    return keys[: len(keys) - len(rest)], rest


def _drain_source(
    redis: RedisClient, mirror: str, source: str, keys: list[str], deadline: drains.Deadline
) -> tuple[list[str], list[str]]:
    done: list[str] = []
    if deadline.passed():
        return done, keys
    for pks in spread.slices(mirror, source, keys):
        drained, rest = _drain_rows(redis, mirror, pks, deadline)
        done += drained
        if rest:
            return done, rest
        if deadline.passed():
            return done, keys
    return done, []
