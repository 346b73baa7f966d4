"""Changes that lead to changes of other mirrors: those of whatever comes after theirs (``WindowMirror.after``).

The others' are appended when the first ones are marked, in one transaction. Before that, what they are to be made of is
not in Redis; and if it comes to nothing, the first ones are still pending, and all of it happens again.
"""

from collections.abc import Sequence

from django.db import transaction

from mirror import outbox, registry


def mark(mirror: str, changes: Sequence[outbox.Pending], incarnation: str) -> None:
    """Note that these changes of a mirror are in Redis, and order what comes after them: both, or neither."""
    ids = [change.id for change in changes]
    if not registry.chained(mirror):
        outbox.mark_applied(ids, incarnation)
        return
    with transaction.atomic(using=outbox.using()):
        if outbox.mark_applied(ids, incarnation):  # else another drain has done all of this
            for name, keys in owners(mirror, {change.key for change in changes}).items():
                outbox.append(name, sorted(keys))


def owners(mirror: str, keys: set[str]) -> dict[str, set[str]]:
    """What is to be done after these rows of a mirror: keys of others, by their names."""
    found: dict[str, set[str]] = {}
    for chained, owner in registry.chained(mirror) if keys else ():
        # Where everything is to be made anew, so is everything that comes after it.
        owned = {key if key == outbox.WHOLE else owner(key) for key in keys}
        found[chained.name] = found.get(chained.name, set()) | owned
    return found
