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
    ids = [change.id for of_mirror in changes.values() for change in of_mirror]
    if any(map(registry.chained, changes)):
        with transaction.atomic(using=outbox.using()):
            if applied := outbox.mark_applied(ids, incarnation):  # otherwise another drain has done all of this
                for mirror, of_mirror in changes.items():
                    for name, keys in owners(mirror, {change.key for change in of_mirror}).items():
                        outbox.append(name, sorted(keys))
    else:
        applied = outbox.mark_applied(ids, incarnation)
    if applied:
        for mirror, of_mirror in changes.items():
            count("applied", len(of_mirror), mirror=mirror)


def owners(mirror: str, keys: set[str]) -> dict[str, set[str]]:
    """Return the keys of other mirrors that follow these rows of a mirror, by mirror."""
    found: dict[str, set[str]] = {}
    for chained, owner in registry.chained(mirror) if keys else ():
        # A change of everything orders a change of everything.
        owned = {key if key == outbox.WHOLE else owner(key) for key in keys}
        found[chained.name] = found.get(chained.name, set()) | owned
    return found
