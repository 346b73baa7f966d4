"""Checks of the triggers: a mirror is cold while it may miss changes, and is rebuilt when its triggers are back.

A trigger that was dropped and created again between two checks has the same text. So each has a stamp that changes
when it is recreated (``Capture.stamps``), and SQL keeps the stamps under which no change was missed
(``Identity.triggers``).
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from django.db import DatabaseError, transaction

from mirror import registry
from mirror.capture import install, layouts
from mirror.capture.plan import COLUMN, Capture
from mirror.models import Identity, State
from mirror.outbox import changes
from mirror.outbox.identity import load_identity
from mirror.redis.types import RedisClient
from mirror.utils.throttle import Throttle
from mirror.warm import cold

logger = logging.getLogger("mirror")
TRIGGER_CHECK_SECONDS: Final = 2.0  # how often a process checks the triggers
Reasons = Mapping[str, tuple[str, ...]]


class _Watch:
    """The stamps that this process found in order, and its last report."""

    def __init__(self) -> None:
        self.throttle = Throttle(lambda: TRIGGER_CHECK_SECONDS)
        self.stamps: Mapping[str, str] | None = None
        self.reasons: Reasons = {}


_watch = _Watch()


def forget() -> None:
    """Forget everything, like a new process."""
    _watch.__init__()  # type: ignore[misc]


def watch(redis: RedisClient) -> Reasons:
    """Run ``check`` once per ``TRIGGER_CHECK_SECONDS`` in this process, and return its last result."""
    if _watch.throttle.allows():
        check(redis)
    return _watch.reasons


def check(redis: RedisClient) -> Reasons:
    """Make mirrors cold that miss changes or may have missed some.

    Return the reasons, by mirror, for those that still miss changes, and for those that other code maintains, which
    are left alone. Two queries while the triggers are unchanged. Raises redis-py's errors when Redis is away.
    """
    states = list(State.objects.using(changes.using()).only("layout"))
    ignored = _find_ignored(states)
    if ignored:
        # The triggers are those of the other code, which checks them. No code checks those of a mirror that it lacks.
        _watch.stamps = None
        _watch.reasons = ignored
        cold.make_all_cold(layouts.find_unrecorded(states), redis)
        return _watch.reasons
    found = install.capture_for()
    stamps = found.stamps()
    # Nothing was recreated since this process has found the triggers in order.
    if stamps == _watch.stamps:
        return {}
    # Until Redis is updated as well: after an error the next check starts over.
    _watch.stamps = None
    faults = install.missing()
    # A trigger that is weaker than it should be is a fault.
    if any(fault.trigger for fault in faults) and _strengthen_triggers(found):
        stamps = found.stamps()
        faults = install.missing()
    reasons = _group_by_mirror(faults)
    # The stamp of a broken trigger is not accepted: it would prove that no change was missed.
    broken = {fault.trigger for fault in faults if fault.mirrors}
    intact = {name: stamp for name, stamp in stamps.items() if name not in broken}
    lost = _accept_stamps(found, intact)
    if reasons.keys() - _watch.reasons.keys():
        logger.error("Changes are not captured, SQL answers: %s", "; ".join(map(str, faults)))
    # Processes of older code may still read the removed ones.
    names = registry.add_dependents(lost) | reasons.keys() | set(layouts.find_removed(states))
    if names:
        cold.make_all_cold(names, redis)
    _watch.reasons = reasons
    if not reasons:
        _watch.stamps = stamps
    return reasons


def reasons(states: Iterable[State] | None = None) -> Reasons:
    """Return, by mirror, why its changes are missed at present, or why this process ignores it. Changes nothing.

    states: all rows, if they are known.
    """
    if states is None:
        states = State.objects.using(changes.using()).only("layout")
    return _find_ignored(list(states)) or _group_by_mirror(install.missing())


def _find_ignored(states: Collection[State]) -> Reasons:
    """Return the mirrors that this process ignores because ``migrate`` of other code was the newest, with reasons."""
    outdated = layouts.find_outdated(states)
    if not outdated:
        return {}
    unrecorded = layouts.find_unrecorded(states)
    reasons = dict.fromkeys(registry.add_dependents(unrecorded), (layouts.REASON_UNRECORDED,))
    return reasons | dict.fromkeys(registry.add_dependents(outdated), (layouts.REASON,))


def _group_by_mirror(faults: Iterable[install.Fault]) -> Reasons:
    texts: dict[str, list[str]] = defaultdict(list)
    for fault in faults:
        for name in registry.add_dependents(fault.mirrors):
            texts[name].append(str(fault))
    return {name: tuple(found) for name, found in texts.items()}


def _accept_stamps(found: Capture, stamps: Mapping[str, str]) -> list[str]:
    """Save these stamps and order a rebuild of the mirrors with changed stamps, in one transaction.

    Return the names of these mirrors. In a database without stamps, no change is known to be missed.
    """
    using = changes.using()
    with transaction.atomic(using=using):
        found.lock()
        known = load_identity().triggers
        is_first = known is None
        known = known or {}
        replaced: set[str] = set()
        if not is_first:
            replaced = {name for name, stamp in stamps.items() if known.get(name, _find_first(name, stamp)) != stamp}
        lost = _list_mirrors(found, replaced)
        accepted = dict(known) | dict(stamps)
        if is_first or accepted != known:
            install.made(lost, using)
            Identity.objects.using(using).filter(pk=1).update(triggers=accepted)
    if lost:
        logger.warning("Triggers or columns were altered, changes may have been missed: rebuilding %s", ", ".join(lost))
    return lost


def _find_first(name: str, stamp: str) -> str | None:
    """Return what counts as the stamp before the first one: no mirror was made from a column without a stamp."""
    return stamp if name.startswith(COLUMN) else None


def _list_mirrors(found: Capture, stamps: Collection[str]) -> list[str]:
    """Return the mirrors whose changes were captured by these triggers or come from these columns."""
    if not stamps:
        return []
    names = set[str]()
    for trigger in found.wanted():
        names |= trigger.find_mirrors(stamps)
    return [mirror.name for mirror in registry.all_mirrors() if mirror.name in names]


def _strengthen_triggers(found: Capture) -> bool:
    """Make triggers fire for replicated writes too. Return whether any was altered.

    Without the permission or the lock, they stay as they are.
    """
    weak = found.weak()
    if not weak:
        return False
    try:
        with transaction.atomic(using=changes.using()):
            found.run(weak)
    except DatabaseError as error:
        logger.warning("Triggers do not fire for replicated writes, run migrate: %s", error)
        return False
    return True
