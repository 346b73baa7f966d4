"""Chained changes: an applied change orders changes of the mirrors after it (``WindowMirror.after``).

The new changes are appended in the transaction that marks the first ones. Earlier, Redis would lack the data from
which they are computed. If the transaction fails, the first changes are still pending and all of it is repeated.
"""

from collections.abc import Mapping, Sequence

from django.db import transaction

from mirror import registry
from mirror.outbox import changes as outbox
from mirror.utils.counters import count


def mark(changes: Mapping[str, Sequence[outbox.Pending]], incarnation: str) -> None:
    """Mark these changes, by mirror, as applied and order the chained changes, in one transaction."""
    ids: list[int] = []
    for of_mirror in changes.values():
        ids += [change.id for change in of_mirror]
    if any(map(registry.chained, changes)):
        with transaction.atomic(using=outbox.using()):
            applied = outbox.mark_applied(ids, incarnation)
            # Without a marked change, another drain has marked them and ordered the chained ones.
            if applied:
                _append_chained(changes)
    else:
        # A single statement is atomic without a transaction around it.
        applied = outbox.mark_applied(ids, incarnation)
    if applied:
        _count_applied(changes)


def _count_applied(changes: Mapping[str, Sequence[outbox.Pending]]) -> None:
    for mirror, of_mirror in changes.items():
        count("applied", len(of_mirror), mirror=mirror)


def _append_chained(changes: Mapping[str, Sequence[outbox.Pending]]) -> None:
    for mirror, of_mirror in changes.items():
        changed = {change.key for change in of_mirror}
        for name, keys in owners(mirror, changed).items():
            outbox.append(name, sorted(keys))


def owners(mirror: str, keys: set[str]) -> dict[str, set[str]]:
    """Return the keys of other mirrors that follow these rows of a mirror, by mirror."""
    found: dict[str, set[str]] = {}
    if not keys:
        return found
    rows = keys - {outbox.WHOLE}
    for chained, owner in registry.chained(mirror):
        owned = found.setdefault(chained.name, set())
        owned.update(owner(key) for key in rows)
        if outbox.WHOLE in keys:
            # A change of everything orders a change of everything. No row has this key, so it has no owner.
            owned.add(outbox.WHOLE)
    return found
