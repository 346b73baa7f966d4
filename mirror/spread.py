"""Changes that name a source (a tag): spread, in SQL alone, over the rows that they touch (its books).

Each slice appends the rows' own changes and notes how far it got, in one transaction: it can stop anywhere and
goes on later, and a link made meanwhile has a change of its own. The source's change is done when the last
slice is; what Redis has to say is then told by the appended changes.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from mirror import deliver, outbox, progress, registry
from mirror.declare import Watch, WindowMirror
from mirror.models import Change
from mirror.redis import relay_client

SLICE = 1000  # rows a step
TOGETHER = 100  # sources that are tried in one query, when each touches few rows


def pending_sources(values: Sequence[str] | None = None, mirror: str = "", source: str = "") -> QuerySet[Change]:
    """Pending changes with a source, oldest first; or only those of these values of one source.

    Not those of rows that are pushed: see ``mirror.push``.
    """
    found = Change.objects.using(outbox.using()).pending().exclude(source="").exclude(progress.is_pushed())
    if values is not None:
        return found.filter(mirror=mirror, source=source, key__in=values).order_by("id")
    return found.in_order()


def step(changes: Sequence[Change], redis: Any = None) -> list[str]:
    """Spread one slice of ``changes``, which have mirror and source in common. Returns the rows' keys.

    Raises what the declaration's ``via`` raises, and redis-py's errors.
    """
    first = changes[0]
    watch = _watch(first.mirror, first.source)
    if watch is None or watch.via is None:  # nobody watches this any more
        return _save(changes, [], None, done=True)
    mirror = registry.get(first.mirror)
    if isinstance(mirror, WindowMirror) and mirror.lazy:
        # What is on its way was read before this change. It arrives before the recompute that is ordered here, or not.
        deliver.stop(mirror, redis or relay_client())
    if first.cursor is None and len(changes) > 1:
        keys = watch.via([c.key for c in changes], None, SLICE)
        if len(keys) < SLICE:
            return _save(changes, keys, None, done=True)
    keys = watch.via([first.key], first.cursor, SLICE)
    return _save([first], keys, keys[-1] if keys else None, done=len(keys) < SLICE)


def slices(mirror: str, source: str, values: Sequence[str]) -> Iterator[list[str]]:
    """Spread the changes of these rows of a source to the end. Yields the keys of one slice after the other."""
    while changes := together(list(pending_sources(values, mirror, source)[:TOGETHER])):
        yield step(changes)


def next_group(leave: Collection[int] = ()) -> list[Change]:
    """The next pending changes with a source that one step can take together; [] if there are none.

    leave: ids of changes that are to wait.
    """
    return together(list(pending_sources().exclude(id__in=leave)[:TOGETHER]))


def together(found: Sequence[Change]) -> list[Change]:
    """Those of ``found`` that share the first one's mirror and source and have not been begun."""
    if not found or found[0].cursor is not None:
        return list(found[:1])
    first = found[0]
    return [c for c in found if (c.mirror, c.source, c.cursor) == (first.mirror, first.source, None)]


def _watch(mirror: str, source: str) -> Watch | None:
    for watch in registry.get(mirror).watches:
        if watch.source == source:
            return watch
    return None


def _save(changes: Sequence[Change], keys: list[str], cursor: str | None, *, done: bool) -> list[str]:
    """Append the rows' changes and note the progress, unless somebody else has (then nothing)."""
    ours = Change.objects.using(outbox.using()).filter(
        cursor=changes[0].cursor, id__in=[change.id for change in changes], applied_at__isnull=True
    )  # (Django reads "cursor=None" as IS NULL)
    with transaction.atomic(using=outbox.using()):
        progress = {"applied_at": Now()} if done else {"cursor": cursor}
        if ours.update(**progress) != len(changes):
            transaction.set_rollback(True, using=outbox.using())
            return []
        if done:
            _lift_quarantine(changes)
        outbox.append(changes[0].mirror, keys)
    return keys


def _lift_quarantine(changes: Sequence[Change]) -> None:
    """Mark earlier quarantined changes of the same rows: these have been spread over all that those touch."""
    first = changes[0]
    found = Change.objects.using(outbox.using()).quarantined().filter(mirror=first.mirror, source=first.source)
    found = found.filter(key__in=[change.key for change in changes], id__lt=min(change.id for change in changes))
    found.update(applied_at=Now(), quarantined_at=None)
