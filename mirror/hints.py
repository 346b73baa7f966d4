"""Hints make a change prompt: after the commit, the process that made it drains its own keys at once.

A hint may be lost without harm (the outbox has the change), so nothing here may fail or slow what it follows:
there is a budget, and what does not fit goes to a Celery task or waits for the sweep.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Iterable

from django.db import Error as DatabaseError
from django.db import transaction
from redis.exceptions import RedisError

from mirror import chains, outbox, push, registry, relay, send, spread
from mirror.conf import setting
from mirror.redis import breaker, client

logger = logging.getLogger("mirror")

Group = tuple[str, str]  # mirror, source
MOST = 2000  # keys that one transaction's hints may hold; the sweep has the rest


class _Due(threading.local):
    """The keys hinted at in this thread since the last flush, rolled-back ones included (harmless)."""

    def __init__(self) -> None:
        self.keys: dict[Group, set[str]] = defaultdict(set)
        self.count = 0


_due = _Due()


def hint(mirror: str, source: str, keys: Iterable[str]) -> None:
    """Have these keys drained after the commit of the present transaction, or now if there is none.

    Each call registers its own ``on_commit``: one flag for the transaction would outlive a savepoint that
    is rolled back, and silence the hints after it. The first that runs drains all, the others find nothing.
    """
    if _due.count < MOST:
        group = _due.keys[mirror, source]
        before = len(group)
        group.update(keys)
        _due.count += len(group) - before
    transaction.on_commit(flush, using=outbox.using(), robust=True)


def flush() -> None:
    """Drain what was hinted at, within the budget. Never raises for Redis, SQL or the broker."""
    if not _due.keys:
        return
    due, _due.keys, _due.count = _due.keys, defaultdict(set), 0
    deadline = relay.Deadline(float(setting("BUDGET_SECONDS")))
    left: dict[str, list[str]] = defaultdict(list)
    while due:
        mirror, source = group = min(due, key=_order)
        done, rest = _drain(mirror, source, sorted(due.pop(group)), deadline)
        for name, owners in chains.owners(mirror, set(done)).items():
            due[name, ""] |= owners
        if breaker.open():
            return  # workers cannot write to Redis either, and a hung broker would cost a time-out more
        if rest and (mirror, source) in registry.pushed():
            send.push(mirror, source, rest)
        elif rest and source:
            send.sweep()  # which begins with what a source's change has to be spread over
        else:
            left[mirror] += rest
    for mirror, rest in left.items():
        if rest:
            send.drain(mirror, rest)


def _order(group: Group) -> tuple[bool, bool, int, Group]:
    """Rows of one's own first: at a summary one may have to stand back for others, and who finds a row's id in a window
    shows it, or does not, by its record. What comes after it, after it.
    """
    mirror, ahead = group[0], registry.all_ahead(group[0])
    return any(map(registry.sums_up, (mirror, *ahead))), registry.is_window(mirror), len(ahead), group


def _drain(mirror: str, source: str, keys: list[str], deadline: relay.Deadline) -> tuple[list[str], list[str]]:
    """The rows that were drained, and what could not be of these keys (for a source: whatever stands for it)."""
    if breaker.open():
        return [], keys
    try:
        if (mirror, source) in registry.pushed():
            return _push(mirror, source, keys, deadline)
        if source:
            return _drain_source(mirror, source, keys, deadline)
        return _drain_rows(mirror, keys, deadline)
    except RedisError as error:
        breaker.failed()
        logger.warning("Redis did not answer, the relay will catch up: %s", error)
    except DatabaseError as error:
        logger.warning("SQL did not answer, the relay will catch up: %s", error)
    except Exception:  # a declaration's; the relay finds out which key it is, and the other hints go on
        logger.exception("%s could not be drained, the relay will see to it", mirror)
    return [], keys


def _drain_rows(mirror: str, keys: list[str], deadline: relay.Deadline) -> tuple[list[str], list[str]]:
    rest = relay.drain_keys(mirror, keys, deadline, redis=client(), tries=relay.HASTY)[1]
    return keys[: len(keys) - len(rest)], rest


def _push(mirror: str, source: str, keys: list[str], deadline: relay.Deadline) -> tuple[list[str], list[str]]:
    """One step: whoever wrote these rows has them, and a few others. Nothing comes after it."""
    is_left = deadline.passed() or push.first(mirror, source, keys, client())
    return [], keys if is_left else []


def _drain_source(mirror: str, source: str, keys: list[str], deadline: relay.Deadline) -> tuple[list[str], list[str]]:
    done: list[str] = []
    if deadline.passed():
        return done, keys
    for pks in spread.slices(mirror, source, keys):
        drained, rest = _drain_rows(mirror, pks, deadline)
        done += drained
        if rest:
            return done, rest
        if deadline.passed():
            return done, keys
    return done, []
