"""The work of a drain: what it reads in SQL, and the difference to Redis that it writes."""

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple

import orjson

from mirror.comparison import plan
from mirror.comparison.targets import Target
from mirror.declare.entries import Contribution, Entry
from mirror.kinds import ABSENT, Kind, Stored
from mirror.outbox import changes as outbox
from mirror.outbox.queries import Wanted
from mirror.utils.queries import Query, can_combine

READ_AHEAD: Final = 10  # rows that are read in the round trip which finds out whether they have pending changes
# By mirror and row: the entries that an unfinished drain may have written, or None without one. None on one Redis.
Staged = dict[tuple[str, str], list[Entry] | None] | None
PendingChanges = Mapping[str, Sequence[outbox.Pending]]  # by row
Targets = Mapping[str, Target] | None  # by row; None: not read yet


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
    works = []
    for part, states_of_part, (pending, targets) in zip(parts, states, _read_pending(parts), strict=True):
        rows = dict(zip(part.pks, states_of_part, strict=True))
        # Another drain may have applied all changes, as of a summary, for which many changes name the same row.
        is_done = part.kind.mirror.sums_up and not pending and not full
        if pending_only or is_done:
            rows = {pk: state for pk, state in rows.items() if pk in pending}
        if targets is None and rows:
            targets = part.kind.wanted(list(rows), list(rows.values()))
        works.append(_compute_work(part.kind, rows, pending, targets or {}, full, staged))
    return works


def _read_pending(parts: Sequence[Part]) -> list[tuple[PendingChanges, Targets]]:
    """Return the pending changes of each part, by row, and the content of its rows if the same round trip reads it."""
    wanted: list[Wanted] = []
    ahead: list[Sequence[Query] | None] = []
    for kind, pks in parts:
        # A row may have this text as its key, but no drain of a row applies a change of everything.
        rows = [pk for pk in pks if pk != outbox.WHOLE]
        wanted.append(Wanted(kind.mirror.name, kind.mirror.version, rows))
        ahead.append(None)
    if sum(len(part.pks) for part in parts) <= READ_AHEAD and can_combine(outbox.using()):
        # Of more rows, too many may have no pending changes.
        ahead = [kind.write_queries(pks) for kind, pks in parts]
    changes, results = outbox.read_pending(wanted, list(chain.from_iterable(queries or () for queries in ahead)))
    rest = iter(results)
    read: list[tuple[PendingChanges, Targets]] = []
    for part, pending, queries in zip(parts, changes, ahead, strict=True):
        targets = None
        if queries is not None:
            targets = part.kind.build_targets(list(islice(rest, len(queries))))
        read.append((pending, targets))
    return read


def _compute_work(
    kind: Kind,
    rows: Mapping[str, Any],
    pending: PendingChanges,
    targets: Mapping[str, Target],
    full: bool,
    staged: Staged,
) -> Work:
    """Compute the difference for these rows, given their present states, pending changes and wanted content."""
    work = Work([], {}, [], [], [], {})
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
