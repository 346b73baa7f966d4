"""The work of a drain: what it reads in SQL, and the difference to Redis that it writes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from mirror.comparison import plan
from mirror.declare.entries import Contribution, Entry
from mirror.kinds import ABSENT, Kind, Stored
from mirror.outbox import changes as outbox

# By mirror and row: the entries that an unfinished drain may have written, or None without one. None on one Redis.
Staged = dict[tuple[str, str], list[Entry] | None] | None
PendingChanges = Mapping[str, Sequence[outbox.Pending]]  # by row


class Part(NamedTuple):
    """Rows of one mirror, which one drain writes together with those of others."""

    kind: Kind
    pks: Sequence[str]


class RowWork(NamedTuple):
    """What a drain writes for a row on a cluster. reach: the entries that older drains may write."""

    before: Stored
    own: Stored
    remove: Sequence[Entry]
    add: Sequence[Contribution]
    reach: Sequence[Contribution]
    feed_entry: bytes | None


class Work(NamedTuple):
    """One attempt at a part: the changes that it applies, and what it writes."""

    changes: list[outbox.Pending]
    owns: dict[str, Any]
    remove: list[Entry]
    add: list[Contribution]
    feed: list[bytes]
    by_row: dict[str, RowWork]  # only on a cluster


def read_works(
    parts: Sequence[Part], states: Sequence[Sequence[Any]], *, full: bool, pending_only: bool, staged: Staged
) -> list[Work]:
    """Read SQL (first ids, then rows) and compute the difference."""
    found = _read_pending(parts)
    works = []
    for part, states_of_part, pending in zip(parts, states, found, strict=True):
        rows = dict(zip(part.pks, states_of_part, strict=True))
        # Another drain may have applied all changes, as of a summary, for which many changes name the same row.
        is_done = part.kind.mirror.sums_up and not pending and not full
        if pending_only or is_done:
            rows = {pk: state for pk, state in rows.items() if pk in pending}
        works.append(_compute_work(part.kind, rows, pending, full, staged))
    return works


def _read_pending(parts: Sequence[Part]) -> list[PendingChanges]:
    """Return the pending changes of each part, by row."""
    if len(parts) == 1:
        kind, pks = parts[0]
        return [kind.pending(pks)]
    wanted: list[tuple[str, object, Sequence[str]]] = []
    for kind, pks in parts:
        wanted.append((kind.mirror.name, kind.mirror.version, pks))
    return list(outbox.pending_together(wanted))


def _compute_work(kind: Kind, rows: Mapping[str, Any], pending: PendingChanges, full: bool, staged: Staged) -> Work:
    """Compute the difference for these rows, given their present states and pending changes."""
    work = Work([], {}, [], [], [], {})
    if not rows:
        return work
    targets = kind.wanted(list(rows), list(rows.values()))
    # A rebuild writes all entries, and copies load them again after it.
    has_feed = kind.mirror.feed() is not None and not full
    for pk, before in rows.items():
        target = targets.get(pk, ABSENT)
        changes = pending.get(pk, ())
        work.changes.extend(changes)
        work.owns[pk] = target.own
        strays = _read_strays(changes)
        unfinished = staged.get((kind.mirror.name, pk)) if staged else None
        if unfinished is not None:
            strays += unfinished
        remove, changed = kind.difference(pk, before, strays, target)
        # An empty list of strays ("[]") counts as well: it marks a change whose last write failed.
        is_rewritten = full or unfinished is not None or any(change.strays for change in changes)
        # Without a previous record, or after a failed write, any entry may be missing.
        add = target.entries if is_rewritten or before is None else changed
        work.remove.extend(remove)
        work.add.extend(add)
        feed_entry = None
        if has_feed and (remove or add):
            feed_entry = plan.encode_feed(remove, add)
            work.feed.append(feed_entry)
        if staged is not None:
            reach: list[Contribution] = []
            if unfinished is not None:
                reach += kind.accounted(pk, before)
                reach += strays
                reach += target.entries
            work.by_row[pk] = RowWork(before, target.own, remove, add, reach, feed_entry)
    return work


def _read_strays(changes: Sequence[outbox.Pending]) -> list[Entry]:
    """Return the strays that these changes name, for entries in Redis that no record names."""
    strays: list[Entry] = []
    for change in changes:
        if change.strays:
            strays += map(plan.from_list, orjson.loads(change.strays))
    return strays
