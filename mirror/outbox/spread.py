"""Spread: turn changes of a source (a tag), in SQL alone, into changes of the rows that depend on it (its books).

Each slice appends changes of rows and saves the position, in one transaction. So it can be interrupted anywhere and
continued later, and a link made meanwhile has a change of its own. The source's change is applied after its last
slice. The appended changes then update Redis.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from mirror import registry
from mirror.extensions import list_extensions
from mirror.models import Change
from mirror.outbox import changes as outbox
from mirror.outbox import progress
from mirror.redis.types import RedisClient

Lookup = Callable[[Sequence[str], str | None, int], list[str]]  # ``Watch.via``
SLICE = 1000  # rows in one step
TOGETHER = 100  # sources tried in one query, if few rows depend on each


def pending_sources(values: Sequence[str] | None = None, mirror: str = "", source: str = "") -> QuerySet[Change]:
    """Return pending changes with a source, oldest first: all of them, or those of these values of one source.

    Without pushed rows: see ``mirror.windows.push``.
    """
    found = Change.objects.using(outbox.using()).pending().exclude(source="").exclude(progress.is_pushed())
    if values is not None:
        return found.filter(mirror=mirror, source=source, key__in=values).order_by("id")
    return found.in_order()


def step(changes: Sequence[Change], redis: RedisClient | None = None) -> list[str]:
    """Spread one slice of ``changes``, which share mirror and source. Return the rows' keys.

    Raises errors of the declaration's ``via``, and redis-py's errors.
    """
    first = changes[0]
    find_rows = _find_lookup(first.mirror, first.source)
    if find_rows is None:
        # No mirror watches this source any more.
        return _save_slice(changes, [], None, done=True)
    mirror = registry.get(first.mirror)
    for extension in list_extensions():
        extension.before_spread(mirror, redis)
    if first.cursor is None and len(changes) > 1:
        # Sources with few rows end here, in one query. A full slice may lack rows of any source, and says nothing of
        # where each of them would go on, so it is dropped, and the first source is spread alone.
        keys = find_rows([change.key for change in changes], None, SLICE)
        if len(keys) < SLICE:
            return _save_slice(changes, keys, None, done=True)
    keys = find_rows([first.key], first.cursor, SLICE)
    if len(keys) < SLICE:
        return _save_slice([first], keys, None, done=True)
    return _save_slice([first], keys, keys[-1], done=False)


def slices(mirror: str, source: str, values: Sequence[str]) -> Iterator[list[str]]:
    """Spread the changes of these rows of a source to the end. Yield the keys of each slice."""
    pending = pending_sources(values, mirror, source)
    while changes := together(list(pending[:TOGETHER])):
        yield step(changes)


def next_group(leave: Collection[int] = ()) -> list[Change]:
    """Return the next pending changes with a source that one step can spread together; [] without any.

    leave: ids of changes to skip.
    """
    return together(list(pending_sources().exclude(id__in=leave)[:TOGETHER]))


def together(found: Sequence[Change]) -> list[Change]:
    """Return the changes in ``found`` that have the first one's mirror and source and no cursor."""
    if not found or found[0].cursor is not None:
        # One that has begun is continued alone.
        return list(found[:1])
    first = found[0]
    wanted = (first.mirror, first.source, None)
    return [change for change in found if (change.mirror, change.source, change.cursor) == wanted]


def find_waiting(mirror: str) -> set[str] | None:
    """Return the rows of a mirror that depend on sources with pending changes, or None if these are too many."""
    found = list(pending_sources().filter(mirror=mirror)[: TOGETHER + 1])
    if len(found) > TOGETHER:
        return None
    sources: dict[str, list[str]] = {}
    for change in found:
        sources.setdefault(change.source, []).append(change.key)
    waiting = set[str]()
    for source, values in sources.items():
        find_rows = _find_lookup(mirror, source)
        if find_rows is None:
            continue
        keys = find_rows(values, None, SLICE)
        if len(keys) == SLICE:
            return None
        waiting.update(keys)
    return waiting


def _find_lookup(mirror: str, source: str) -> Lookup | None:
    """Return the function that finds the rows which depend on rows of a source, or None without such a watch."""
    for watch in registry.get(mirror).watches:
        if watch.source == source:
            return watch.via
    return None


def _save_slice(changes: Sequence[Change], keys: list[str], cursor: str | None, *, done: bool) -> list[str]:
    """Append the rows' changes and save the position, unless another process has; then do nothing."""
    ids = [change.id for change in changes]
    # Django translates "cursor=None" to IS NULL.
    ours = Change.objects.using(outbox.using()).filter(cursor=changes[0].cursor, id__in=ids, applied_at__isnull=True)
    with transaction.atomic(using=outbox.using()):
        position: dict[str, Any] = {"applied_at": Now()} if done else {"cursor": cursor}
        # Another process that has saved this slice has appended the same rows; appending them again would double the
        # work of each slice with every further process.
        if ours.update(**position) != len(changes):
            transaction.set_rollback(True, using=outbox.using())
            return []
        if done:
            _lift_quarantine(changes)
        outbox.append(changes[0].mirror, keys)
    return keys


def _lift_quarantine(changes: Sequence[Change]) -> None:
    """Mark earlier quarantined changes of the same source rows, because this spread has covered all their rows."""
    first = changes[0]
    keys = [change.key for change in changes]
    oldest = min(change.id for change in changes)
    found = Change.objects.using(outbox.using()).quarantined().filter(mirror=first.mirror, source=first.source)
    # Not later ones, which may concern rows that an earlier slice has missed.
    found.filter(key__in=keys, id__lt=oldest).update(applied_at=Now(), quarantined_at=None)
