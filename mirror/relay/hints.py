"""Hints: after a commit, the process that made the changes drains its own keys at once.

A lost hint is harmless because the outbox has the change. So hints must not fail or delay the caller: they have a
budget, and the remaining keys go to a Celery task or wait for the sweep. The mode of a mirror (``Mirror.drain``) can
postpone its drain until the response is sent, or leave it to workers.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TypeVar

from django.db import Error as DatabaseError
from django.db import transaction

from mirror import registry
from mirror.conf import setting
from mirror.extensions import list_extensions
from mirror.outbox import chains, changes
from mirror.redis.clients import breaker, try_redis
from mirror.redis.types import RedisClient
from mirror.relay import drains, send, sql_only
from mirror.utils import sql_away
from mirror.utils.commit import commits_by_hand

logger = logging.getLogger("mirror")

T = TypeVar("T")
Group = tuple[str, str]  # mirror, source
Due = dict[Group, set[str]]
Left = dict[Group, list[str]]
Drained = tuple[list[str], list[str]]  # the drained rows, and the keys that are left
MOST = 2000  # maximum number of keys in one transaction's hints; the sweep drains the others


class _Due(threading.local):
    """The keys hinted in this thread since the last flush. Rolled-back ones are included, which is harmless.

    postponed: those of this request that are drained after its response.
    """

    def __init__(self) -> None:
        self.keys: dict[Group, set[str]] = defaultdict(set)
        self.count = 0
        self.postponed: Due = {}


_due = _Due()


def hint(mirror: str, source: str, keys: Iterable[str]) -> None:
    """Drain these keys after the commit of the present transaction, or now without one.

    For writes that send no signals (bulk methods, raw SQL). mirror: its name. source: "" if the keys are those of the
    mirror, otherwise the table that a watch with ``via`` names. A lost hint costs time only, because the relay drains
    all changes.
    """
    hint_all([((mirror, source), keys)])


def hint_all(due: Iterable[tuple[Group, Iterable[str]]]) -> None:
    """Drain the keys of several groups together, like ``hint``. A transaction has one callback for all its hints."""
    for name, keys in due:
        if _due.count >= MOST:
            sql_only.prefer()
        else:
            group = _due.keys[name]
            before = len(group)
            group.update(keys)
            _due.count += len(group) - before
    if _due.keys and commits_by_hand(changes.using()):
        _forget()  # the relay finds the changes when they are committed
        sql_only.prefer()
        return
    # Django's own list is asked, because it forgets a callback when its savepoint is rolled back. A flag of ours would
    # survive the rollback and suppress later hints.
    callbacks = transaction.get_connection(changes.using()).run_on_commit
    if _due.keys and not any(function is flush for _, function, _ in callbacks):
        transaction.on_commit(flush, using=changes.using(), robust=True)


def flush() -> None:
    """Drain the hinted keys within the budget. Never raises errors of Redis, SQL or the broker."""
    if _due.keys:
        drain(_forget(), drains.Deadline(float(setting("BUDGET_SECONDS"))))
        sql_only.note_drain()


def _forget() -> Due:
    """Return the hinted keys, and forget them."""
    due, _due.keys, _due.count = _due.keys, defaultdict(set), 0
    return due


def drain(due: Due, deadline: drains.Deadline) -> None:
    """Drain these keys as the modes of their mirrors allow, and those chained to them. Workers get the others.

    The rows of most mirrors are drained together. Never raises errors of Redis, SQL or the broker.
    """
    left = _postpone(due)
    uncertain: Due = {}
    for mirror, source in list(due):
        if is_source(mirror, source) or registry.is_in_sql(mirror):
            uncertain[mirror, source] = due.pop((mirror, source))
    if not deadline.passed():
        _drain_together(due)
    if uncertain and not breaker.open():
        for group, pending in _find_pending(uncertain):
            if is_source(*group):
                left[group] = sorted(pending)
                sql_only.prefer()
            else:
                due[group] = pending
    while due and not breaker.open():
        group = min(due, key=_order)
        mirror, _ = group
        keys = sorted(due.pop(group))
        undone: Drained = [], keys
        done, left[group] = _guard(partial(_drain, group, keys, deadline), undone, mirror)
        _add_chained(due, {mirror: done})
    if due or any(left.values()):
        sql_only.prefer()
    if not breaker.open():  # workers could not write to Redis either, and a hung broker would cost another time-out
        _send(left)


def _drain_together(due: Due) -> None:
    """Drain the rows of all mirrors that share a transaction, and replace them by those chained to them."""
    shared = [(mirror, source) for mirror, source in due if not source and drains.can_share(mirror)]
    shared.sort(key=_order)
    if not shared:
        return
    rows = {mirror: sorted(due[mirror, source]) for mirror, source in shared}
    if _guard(lambda redis: drains.drain_together(rows, redis), False, "Rows"):
        for group in shared:
            del due[group]
        _add_chained(due, rows)


def take_postponed() -> Due:
    """Return the keys that this thread's request left for the time after its response, and forget them."""
    taken, _due.postponed = _due.postponed, {}
    return taken


def is_source(mirror: str, source: str) -> bool:
    """Return whether such a change is spread over the rows that depend on it, of which there may be any number."""
    return source != "" and (mirror, source) not in registry.pushed()


def _postpone(due: Due) -> Left:
    """Take out the rows that are not drained now. Return those for workers."""
    left: Left = {}
    for mirror, source in list(due):
        if is_source(mirror, source):
            continue
        group = mirror, source
        mode = registry.drain_mode(mirror)
        if mode == "worker":
            left[group] = sorted(due.pop(group))
        elif mode == "after_response" and sql_only.in_request():
            _due.postponed[group] = _due.postponed.get(group, set()) | due.pop(group)
        else:
            continue
        sql_only.prefer()
    return left


def _find_pending(due: Due) -> Iterable[tuple[Group, set[str]]]:
    """Return the groups that have a pending change, with the keys of these.

    A saved row is a hint for each of its columns. This question costs less than a drain for nothing.
    """
    asked: list[tuple[str, str, str]] = []
    for (mirror, source), keys in due.items():
        asked += [(mirror, source, key) for key in keys]
    found: Due = defaultdict(set)
    for mirror, source, key in _guard(lambda redis: changes.pending_among(asked), asked, "Changes"):
        found[mirror, source].add(key)
    return found.items()


def _add_chained(due: Due, done: Mapping[str, Collection[str]]) -> None:
    for mirror, keys in done.items():
        for name, owners in chains.owners(mirror, set(keys)).items():
            due[name, ""] = due.get((name, ""), set()) | owners


def _order(group: Group) -> tuple[bool, bool, int, Group]:
    """Sort groups so that each is drained after those on which it depends.

    Summaries come last, because other drains may delay them. Windows come after records, which decide whether a
    reader shows an id in a window. Chained mirrors come after those they depend on.
    """
    mirror, _ = group
    ahead = registry.all_ahead(mirror)
    waits_for_summary = any(map(registry.sums_up, (mirror, *ahead)))
    return waits_for_summary, registry.lists_ids(mirror), len(ahead), group


def _push_first(group: Group, keys: list[str], redis: RedisClient) -> bool:
    return any(extension.push_first(*group, keys, redis) for extension in list_extensions())


def _drain(group: Group, keys: list[str], deadline: drains.Deadline, redis: RedisClient) -> Drained:
    """Drain a group."""
    mirror, source = group
    if source:
        # Pushed rows: one slice, which reaches the authors' windows and a few others; nothing is chained to it.
        is_left = deadline.passed() or _push_first(group, keys, redis)
        return [], keys if is_left else []
    failed: set[tuple[str, str]] = set()
    _, rest = drains.drain_keys(mirror, keys, deadline, redis=redis, tried=failed, tries=drains.HASTY)
    if failed:
        sql_only.prefer()
    return keys[: len(keys) - len(rest)], rest


def _guard(work: Callable[[RedisClient], T], otherwise: T, name: str) -> T:
    """Return the result of ``work``, or ``otherwise`` after any error."""

    def perform(redis: RedisClient) -> T:
        result = work(redis)
        sql_away.report_answer()
        return result

    try:
        return try_redis(perform, lambda: otherwise, logger, "Redis did not answer, the relay will catch up: %s")
    except changes.InTransaction as error:  # of a TestCase: no commit comes
        logger.debug("%s are left to the relay: %s", name, error)
    except DatabaseError as error:
        sql_away.report_outage(error)
    except Exception:  # an error of the declaration; the relay finds the failing key, and the other hints continue
        logger.exception("%s could not be drained, the relay will see to it", name)
    return otherwise


def _send(left: Left) -> None:
    """Send tasks for these keys."""
    has_sources = False
    for (mirror, source), keys in left.items():
        if not keys:
            continue
        if not source:
            send.drain(mirror, keys)
        elif is_source(mirror, source):
            has_sources = True
        else:
            send.push(mirror, source, keys)
    if has_sources and not sql_only.in_request():  # in a request the middleware does it, after the response
        send.sweep_soon()  # a sweep begins with changes of sources
