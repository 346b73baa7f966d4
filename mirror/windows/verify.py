"""Verification of lazy windows: compare each one in Redis with SQL, from its floor upwards.

A missing window is no difference. A difference counts only if every comparison finds it, SQL was the same before
and after Redis was read, and nothing was pending: no change of the window, none of a mirror that it depends on, and
no push of the member.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mirror.comparison import scan
from mirror.comparison.compare import Difference, Kind, number_tries
from mirror.comparison.expected import says
from mirror.comparison.targets import ABSENT, Stored, Target
from mirror.comparison.verification import Verification, note_result
from mirror.declare.entries import Scored, single
from mirror.models import Change
from mirror.outbox import changes as outbox
from mirror.redis.session import Session
from mirror.utils.callbacks import ProgressCallback

if TYPE_CHECKING:
    from mirror.windows.kinds import LazyKind

BATCH = 500
MOST_PENDING = 100_000  # maximum number of other mirrors' changes that are read


class Windows:
    """The lazy windows of one mirror in Redis, and their differences."""

    def __init__(self, kind: "LazyKind", session: Session) -> None:
        self.kind, self.mirror, self.session = kind, kind.mirror, session
        self.owned = scan.Owned(self.mirror)
        self.owners: dict[str, None] = {}

    def take(self, keys: Sequence[str]) -> None:
        """Collect the keys in this list that are windows of the mirror."""
        for key in keys:
            family = self.owned.family_of(key)
            if family is not None:
                self.owners[family.owner(key, "")] = None

    def differences(self, owners: Sequence[str]) -> list[Difference]:
        """Return the lasting differences of these windows."""
        # Without regard to pending changes, which only the few windows that differ are asked about.
        suspects = [owner for owner, stored, target in self._read(owners) if self._judge(owner, stored, target, ())]
        if not suspects:
            return []
        found: dict[tuple[str, str], Difference] = {}
        for attempt in number_tries():
            seen: dict[tuple[str, str], Difference] = {}
            for difference in self._look(suspects):
                member = says(difference.entry)[1] if difference.entry else ""
                place = difference.pk, member
                if attempt == 0 or place in found:
                    seen[place] = difference
            found = seen
            suspects = list(dict.fromkeys(pk for pk, _ in found))
            if not suspects:
                break
        return list(found.values())

    def chosen(self, count: int) -> list[str]:
        """Return the owners of ``count`` random windows."""
        owners = list(self.owners)
        return owners if len(owners) <= count else random.sample(owners, count)

    def _read(self, owners: Sequence[str]) -> list[tuple[str, Stored, Target]]:
        asks = self.kind.ask(owners)
        self.session.post(asks)  # Redis answers while SQL is read
        targets = self.kind.targets(owners)
        stored = self._texts(owners, scan.collect(self.session, asks))
        return [(owner, state, targets.get(owner, ABSENT)) for owner, state in zip(owners, stored, strict=True)]

    def _texts(self, owners: Sequence[str], replies: Sequence[Any]) -> list[Stored]:
        stored = self.kind.read_states(owners, replies)
        for owner, members in zip(owners, stored, strict=True):
            if any("\ufffd" in member for member in members):
                raise scan.no_text(self.mirror.record_key(owner))
        return stored

    def _look(self, owners: Sequence[str]) -> list[Difference]:
        before = self.kind.targets(owners)
        stored = self._texts(owners, scan.ask(self.session, self.kind.ask(owners)))
        after = self.kind.targets(owners)
        busy = self._busy(owners)
        members: set[str] = set()
        for window in stored:
            members.update(window)
        for target in before.values():
            members.update(says(entry)[1] for entry in single(target.entries))
        moving = self._moving(members)
        found: list[Difference] = []
        for owner, window in zip(owners, stored, strict=True):
            if owner not in busy and before.get(owner) == after.get(owner):
                found += self._judge(owner, window, before.get(owner, ABSENT), moving)
        return found

    def _busy(self, owners: Sequence[str]) -> Collection[str]:
        """Return the owners with a pending change of their own or of a mirror in ``after``."""
        busy = set(outbox.pending_of(self.mirror.name, owners))
        for after in self.mirror.after:
            busy |= {after.owner(change.key) for change in outbox.pending_at_all(after.mirror, MOST_PENDING)}
        return busy

    def _moving(self, members: Collection[str]) -> set[str]:
        """Return the members with a pending push. The first column of a pushed row's key is the member."""
        sources = [watch.source for watch in self.mirror.watches if watch.pushed]
        changes = Change.objects.using(outbox.using()).filter(
            mirror=self.mirror.name, source__in=sources, applied_at__isnull=True
        )
        moving: set[str] = set()
        for key in changes.values_list("key", flat=True).iterator(chunk_size=BATCH * 10):
            member = key.partition(":")[0]
            if member in members:
                moving.add(member)
        return moving

    def _judge(self, owner: str, stored: Stored, target: Target, moving: Collection[str]) -> list[Difference]:
        """Return the differences of one window. For a window that must not exist, this is a single one."""
        if not stored:
            return []
        name = self.mirror.name
        key = self.mirror.record_key(owner)
        of_window = {*stored, *(entry[1] for entry in target.entries)}
        moving = of_window & set(moving)
        settled = self.kind.settle(owner, stored, target, moving)
        if not settled.entries:
            return [Difference(name, owner, "stray", key, None, None, f"{len(stored)} members")]
        wanted = {entry.member: float(entry.score) for entry in settled.entries if isinstance(entry, Scored)}
        return [
            _difference(name, owner, key, member, wanted, stored)
            for member in dict.fromkeys([*wanted, *stored])
            if member not in moving and wanted.get(member) != stored.get(member)
        ]


def _difference(
    name: str, owner: str, key: str, member: str, wanted: Mapping[str, float], stored: Mapping[str, float]
) -> Difference:
    kind: Kind = "stale"
    if member not in wanted:
        kind = "stray"
    elif member not in stored:
        kind = "missing"
    expected = repr(wanted[member]) if member in wanted else None
    found = repr(stored[member]) if member in stored else None
    return Difference(name, owner, kind, key, Scored(key, member, stored.get(member, 0.0)), expected, found)


def in_batches(windows: Windows, owners: Sequence[str]) -> list[list[str]]:
    """Return the owners in lists of the size that is read together."""
    size = windows.kind.limit_batch(BATCH)
    return [list(owners[start : start + size]) for start in range(0, len(owners), size)]


class LazyVerification(Verification):
    """The verification of a mirror with lazy windows: those that exist in Redis."""

    needs_keys_for_sample = True

    def __init__(self, windows: Windows, progress: ProgressCallback) -> None:
        self.mirror, self.windows, self.progress = windows.mirror, windows, progress

    def take(self, keys: list[str]) -> None:
        """Collect the keys in this list that belong to the mirror."""
        self.windows.take(keys)

    def result(self) -> list[Difference]:
        """Return the lasting differences of all windows."""
        found = self._differences(list(self.windows.owners))
        note_result(self.mirror.name, len(found))
        return found

    def some(self, count: int) -> list[Difference]:
        """Return the differences of ``count`` random windows."""
        return self._differences(self.windows.chosen(count))

    def _differences(self, owners: list[str]) -> list[Difference]:
        found = []
        for batch in in_batches(self.windows, owners):
            found += self.windows.differences(batch)
            self.progress(self.mirror.name, len(batch))
        return found
