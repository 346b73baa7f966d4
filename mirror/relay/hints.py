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
from mirror.utils import sql_outages
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

    def add(self, group: Group, keys: Iterable[str]) -> None:
        """Add keys, unless there are too many: then the relay finds the changes."""
        if self.count >= MOST:
            sql_only.prefer()
            return
        known = self.keys[group]
        before = len(known)
        known.update(keys)
        self.count += len(known) - before

    def take_all(self) -> Due:
        """Return the hinted keys, and forget them."""
        taken = self.keys
        self.keys = defaultdict(set)
        self.count = 0
        return taken


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
    for group, keys in due:
        mirror, _ = group
        # The relay finds these changes, and nobody waits for them.
        if registry.drain_mode(mirror) != registry.RELAY:
            _due.add(group, keys)
    if not _due.keys:
        return
    if commits_by_hand(changes.using()):
        # The relay finds the changes when they are committed.
        _due.take_all()
        sql_only.prefer()
        return
    # Django's own list is asked, because it forgets a callback when its savepoint is rolled back. A flag of ours would
    # survive the rollback and suppress later hints.
    callbacks = transaction.get_connection(changes.using()).run_on_commit
    is_registered = any(function is flush for _, function, _ in callbacks)
    if not is_registered:
        transaction.on_commit(flush, using=changes.using(), robust=True)


def flush() -> None:
    """Drain the hinted keys within the budget. Never raises errors of Redis, SQL or the broker."""
    if _due.keys:
        budget = float(setting("BUDGET_SECONDS"))
        drain(_due.take_all(), drains.Deadline(budget))
        sql_only.note_drain()


def drain(due: Due, deadline: drains.Deadline) -> None:
    """Drain these keys as the modes of their mirrors allow, and those chained to them. Workers get the others.

    The rows of most mirrors are drained together. Never raises errors of Redis, SQL or the broker.
    """
    left = _postpone_some(due)
    uncertain = _take_uncertain(due)
    if not deadline.passed():
        _drain_together(due)
    if uncertain and not breaker.open():
        _sort_uncertain(uncertain, due, left)
    while due and not breaker.open():
        # Chained rows are added meanwhile, so the next group is sought again each time.
        group = min(due, key=_get_rank)
        mirror, _ = group
        keys = sorted(due.pop(group))
        undone: Drained = [], keys
        done, left[group] = _guard_errors(partial(_drain_group, group, keys, deadline), undone, mirror)
        _add_chained(due, {mirror: done})
    if due or any(left.values()):
        sql_only.prefer()
    # Workers could not write to Redis either, and a hung broker would cost another time-out.
    if not breaker.open():
        _send_tasks(left)


def _take_uncertain(due: Due) -> Due:
    """Take out the groups that would cost more than the question whether they have pending changes."""
    uncertain: Due = {}
    for group in list(due):
        mirror, _ = group
        if is_source(*group) or registry.is_in_sql(mirror):
            uncertain[group] = due.pop(group)
    return uncertain


def _sort_uncertain(uncertain: Due, due: Due, left: Left) -> None:
    """Leave pending sources to workers, and add the other pending keys to those that are drained now."""
    for group, pending in _find_pending(uncertain):
        if is_source(*group):
            left[group] = sorted(pending)
            sql_only.prefer()
        else:
            due[group] = pending


def _drain_together(due: Due) -> None:
    """Drain the rows of all mirrors that share a transaction, and replace them by those chained to them."""
    shared: list[Group] = []
    for mirror, source in due:
        if source == "" and drains.can_share(mirror):
            shared.append((mirror, source))
    if not shared:
        return
    shared.sort(key=_get_rank)
    rows: dict[str, list[str]] = {}
    for group in shared:
        mirror, _ = group
        rows[mirror] = sorted(due[group])
    if _guard_errors(lambda redis: drains.drain_together(rows, redis), False, "Rows"):
        for group in shared:
            del due[group]
        _add_chained(due, rows)


def take_postponed() -> Due:
    """Return the keys that this thread's request left for the time after its response, and forget them."""
    taken = _due.postponed
    _due.postponed = {}
    return taken


def is_source(mirror: str, source: str) -> bool:
    """Return whether such a change is spread over the rows that depend on it, of which there may be any number."""
    return source != "" and (mirror, source) not in registry.pushed()


def _postpone_some(due: Due) -> Left:
    """Take out the rows that are not drained now. Return those for workers."""
    left: Left = {}
    for group in list(due):
        if is_source(*group):
            continue
        mirror, _ = group
        mode = registry.drain_mode(mirror)
        if mode == "worker":
            left[group] = sorted(due.pop(group))
            sql_only.prefer()
        elif mode == "after_response" and sql_only.in_request():
            postponed = _due.postponed.setdefault(group, set())
            postponed |= due.pop(group)
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
    # After an error all of them may be pending.
    for mirror, source, key in _guard_errors(lambda redis: changes.pending_among(asked), asked, "Changes"):
        found[mirror, source].add(key)
    return found.items()


def _add_chained(due: Due, done: Mapping[str, Collection[str]]) -> None:
    """Add the rows that are chained to these."""
    for mirror, keys in done.items():
        for name, owners in chains.owners(mirror, set(keys)).items():
            chained = due.setdefault((name, ""), set())
            chained |= owners


def _get_rank(group: Group) -> tuple[bool, bool, int, Group]:
    """Return a rank by which each group is drained after those on which it depends.

    Summaries come last, because other drains may delay them. Windows come after records, which decide whether a
    reader shows an id in a window. Chained mirrors come after those they depend on.
    """
    mirror, _ = group
    ahead = registry.all_ahead(mirror)
    waits_for_summary = any(map(registry.sums_up, (mirror, *ahead)))
    return waits_for_summary, registry.lists_ids(mirror), len(ahead), group


def _push_first(group: Group, keys: list[str], redis: RedisClient) -> bool:
    """Let the extensions push these rows. Return whether some are left."""
    return any(extension.push_first(*group, keys, redis) for extension in list_extensions())


def _drain_group(group: Group, keys: list[str], deadline: drains.Deadline, redis: RedisClient) -> Drained:
    """Drain a group. Return the drained rows, and the keys that are left."""
    mirror, source = group
    if source:
        # Pushed rows: one slice, which reaches the authors' windows and a few others; nothing is chained to it.
        is_left = deadline.passed() or _push_first(group, keys, redis)
        left = keys if is_left else []
        return [], left
    failed: set[tuple[str, str]] = set()
    _, left = drains.drain_keys(mirror, keys, deadline, redis=redis, tried=failed, tries=drains.HASTY)
    if failed:
        sql_only.prefer()
    # Keys are drained in their order, so those that are left come last.
    done = keys[: len(keys) - len(left)]
    return done, left


def _guard_errors(work: Callable[[RedisClient], T], otherwise: T, name: str) -> T:
    """Return the result of ``work``, or ``otherwise`` after any error."""

    def perform(redis: RedisClient) -> T:
        result = work(redis)
        sql_outages.report_answer()
        return result

    try:
        return try_redis(perform, lambda: otherwise, logger, "Redis did not answer, the relay will catch up: %s")
    except changes.InTransaction as error:
        # A TestCase runs in a transaction, and no commit comes.
        logger.debug("%s are left to the relay: %s", name, error)
    except DatabaseError as error:
        sql_outages.report_outage(error)
    except Exception:
        # An error of the declaration: the relay finds the failing key, and the other hints continue.
        logger.exception("%s could not be drained, the relay will see to it", name)
    return otherwise


def _send_tasks(left: Left) -> None:
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
    # In a request the middleware does it, after the response. A sweep begins with changes of sources.
    if has_sources and not sql_only.in_request():
        send.sweep_soon()
