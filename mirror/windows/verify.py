"""Verification of lazy windows: compare each one in Redis with SQL, from its floor upwards.

A missing window is no difference. A difference counts only if every comparison finds it, SQL was the same before
and after Redis was read, and nothing was pending: no change of the window, none of a mirror that it depends on, and
no push of the member.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mirror.comparison import scan
from mirror.comparison.compare import Difference, Kind, number_looks
from mirror.comparison.expected import says
from mirror.declare.entries import Scored, single
from mirror.kinds import ABSENT, Said, Target
from mirror.models import Change
from mirror.outbox import changes as outbox
from mirror.redis.session import Session
from mirror.windows.declare import WindowMirror
from mirror.windows.kinds import LazyShape, at_once

BATCH = 500
MOST_PENDING = 100_000  # maximum number of other mirrors' changes that are read


class Windows:
    """The lazy windows of one mirror in Redis, and their differences."""

    def __init__(self, mirror: WindowMirror, session: Session) -> None:
        self.mirror, self.session = mirror, session
        self.shape = LazyShape(mirror)
        self.owned = scan.Owned(mirror)
        self.owners: dict[str, None] = {}

    def take(self, keys: Sequence[str]) -> None:
        """Collect the keys in this list that are windows of the mirror."""
        for key in keys:
            if (family := self.owned.family_of(key)) is not None:
                self.owners[family.owner(key, "")] = None

    def differences(self, owners: Sequence[str]) -> list[Difference]:
        """Return the lasting differences of these windows."""
        suspects = [owner for owner, said, target in self._read(owners) if self._judge(owner, said, target, ())]
        if not suspects:
            return []
        found: dict[tuple[str, str], Difference] = {}
        for attempt in number_looks():
            seen = {(d.pk, says(d.entry)[1] if d.entry else ""): d for d in self._look(suspects)}
            found = {place: d for place, d in seen.items() if not attempt or place in found}
            suspects = list(dict.fromkeys(pk for pk, _ in found))
            if not suspects:
                break
        return list(found.values())

    def chosen(self, count: int) -> list[str]:
        """Return the owners of ``count`` random windows."""
        owners = list(self.owners)
        return owners if len(owners) <= count else random.sample(owners, count)

    def _read(self, owners: Sequence[str]) -> list[tuple[str, Said, Target]]:
        asks = self.shape.ask(owners)
        self.session.post(asks)  # Redis answers while SQL is read
        targets = self.shape.targets(owners)
        said = self._texts(owners, scan.collect(self.session, asks))
        return [(o, s, targets.get(o, ABSENT)) for o, s in zip(owners, said, strict=True)]

    def _texts(self, owners: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        said = self.shape.said(owners, replies)
        for owner, members in zip(owners, said, strict=True):
            if any("\ufffd" in member for member in members):
                raise scan.no_text(self.mirror.record_key(owner))
        return said

    def _look(self, owners: Sequence[str]) -> list[Difference]:
        before = self.shape.targets(owners)
        said = self._texts(owners, scan.ask(self.session, self.shape.ask(owners)))
        after = self.shape.targets(owners)
        busy, found = self._busy(owners), []
        members = {m for window in said for m in window} | {
            says(e)[1] for t in before.values() for e in single(t.entries)
        }
        moving = self._moving(members)
        for owner, window in zip(owners, said, strict=True):
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
        keys = changes.values_list("key", flat=True).iterator(chunk_size=BATCH * 10)
        return {member for key in keys if (member := key.partition(":")[0]) in members}

    def _judge(self, owner: str, said: Said, target: Target, moving: Collection[str]) -> list[Difference]:
        """Return the differences of one window. For a window that must not exist, this is a single one."""
        if not said:
            return []
        name, key = self.mirror.name, self.mirror.record_key(owner)
        moving = {member for member in moving if member in said or any(e[1] == member for e in target.entries)}
        standing = self.shape.standing(owner, said, target, moving)
        if not standing.entries:
            return [Difference(name, owner, "stray", key, None, None, f"{len(said)} members")]
        wanted = {entry.member: float(entry.score) for entry in standing.entries if isinstance(entry, Scored)}
        return [
            _difference(name, owner, key, member, wanted, said)
            for member in dict.fromkeys([*wanted, *said])
            if member not in moving and wanted.get(member) != said.get(member)
        ]


def _difference(
    name: str, owner: str, key: str, member: str, wanted: Mapping[str, float], said: Mapping[str, float]
) -> Difference:
    kind: Kind = "stray" if member not in wanted else "missing" if member not in said else "stale"
    expected, found = (repr(one[member]) if member in one else None for one in (wanted, said))
    return Difference(name, owner, kind, key, Scored(key, member, said.get(member, 0.0)), expected, found)


def in_batches(windows: Windows, owners: Sequence[str]) -> list[list[str]]:
    """Return the owners in lists of the size that is read together."""
    size = at_once(windows.mirror, BATCH)
    return [list(owners[start : start + size]) for start in range(0, len(owners), size)]
