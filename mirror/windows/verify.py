"""Verification of lazy windows: compare each one in Redis with SQL, from its floor upwards.

A missing window is no difference. A difference counts only if every comparison finds it, SQL was the same before
and after Redis was read, and nothing was pending: no change of the window, none of a mirror that it depends on, and
no push of the member.
"""

import random
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from mirror.comparison import scan
from mirror.comparison.compare import Difference, Kind, number_tries
from mirror.comparison.targets import ABSENT, Stored, Target
from mirror.comparison.verification import Verification, note_result
from mirror.declare.entries import Scored
from mirror.models import Change
from mirror.outbox import changes as outbox
from mirror.redis.session import Session
from mirror.utils.callbacks import ProgressCallback
from mirror.windows.content import get_scores

if TYPE_CHECKING:
    from mirror.windows.kinds import LazyKind

BATCH = 500
MOST_PENDING = 100_000  # maximum number of other mirrors' changes that are read


class Windows:
    """The lazy windows of one mirror in Redis, and their differences."""

    def __init__(self, kind: "LazyKind", session: Session) -> None:
        self.kind = kind
        self.mirror = kind.mirror
        self.session = session
        self.owned = scan.Owned(self.mirror)
        # No list, because SCAN may return a key twice.
        self.owners: dict[str, None] = {}

    def collect_owners(self, keys: Sequence[str]) -> None:
        """Collect the owners of those keys in this list that are windows of the mirror."""
        for key in self.owned.select(keys):
            family = self.owned.family_of(key)
            if family is not None:
                self.owners[family.owner(key, "")] = None

    def find_differences(self, owners: Sequence[str]) -> list[Difference]:
        """Return the lasting differences of these windows."""
        suspects = self._find_suspects(owners)
        if not suspects:
            return []
        lasting: dict[tuple[str, str], Difference] | None = None
        for _ in number_tries():
            seen: dict[tuple[str, str], Difference] = {}
            for difference in self._compare_closely(suspects):
                place = _find_place(difference)
                # A difference that one comparison lacks was on its way.
                if lasting is None or place in lasting:
                    seen[place] = difference
            lasting = seen
            suspects = list(dict.fromkeys(owner for owner, _ in lasting))
            if not suspects:
                break
        return list(lasting.values()) if lasting else []

    def choose_owners(self, count: int) -> list[str]:
        """Return the owners of ``count`` random windows."""
        owners = list(self.owners)
        if len(owners) <= count:
            return owners
        return random.sample(owners, count)

    def _find_suspects(self, owners: Sequence[str]) -> list[str]:
        """Return the owners whose windows differ at first sight, where pending changes are ignored."""
        asks = self.kind.ask(owners)
        # Redis answers while SQL is read.
        self.session.post(asks)
        targets = self.kind.targets(owners)
        stored = self._read_windows(owners, scan.collect(self.session, asks))
        suspects: list[str] = []
        for owner, window in zip(owners, stored, strict=True):
            target = targets.get(owner, ABSENT)
            if self._judge_window(owner, window, target, ()):
                suspects.append(owner)
        return suspects

    def _read_windows(self, owners: Sequence[str], replies: Sequence[Any]) -> list[Stored]:
        """Return the windows in these replies. Raises WrongType if a member is no text."""
        stored = self.kind.read_states(owners, replies)
        for owner, members in zip(owners, stored, strict=True):
            # The mark of bytes that were no text
            if any("\ufffd" in member for member in members):
                raise scan.no_text(self.mirror.record_key(owner))
        return stored

    def _compare_closely(self, owners: Sequence[str]) -> list[Difference]:
        """Return the present differences of those windows that stayed the same in SQL and are not pending."""
        # SQL before and after Redis: a row that was written in between would seem to be missing or a stray.
        before = self.kind.targets(owners)
        stored = self._read_windows(owners, scan.ask(self.session, self.kind.ask(owners)))
        after = self.kind.targets(owners)
        busy = self._find_busy(owners)
        members: set[str] = set()
        for window in stored:
            members.update(window)
        for target in before.values():
            members.update(get_scores(target))
        moving = self._find_moving(members)
        found: list[Difference] = []
        for owner, window in zip(owners, stored, strict=True):
            is_unchanged = before.get(owner) == after.get(owner)
            if is_unchanged and owner not in busy:
                found += self._judge_window(owner, window, before.get(owner, ABSENT), moving)
        return found

    def _find_busy(self, owners: Sequence[str]) -> Collection[str]:
        """Return the owners with a pending change of their own or of a mirror in ``after``."""
        busy = set(outbox.pending_of(self.mirror.name, owners))
        for after in self.mirror.after:
            for change in outbox.pending_at_all(after.mirror, MOST_PENDING):
                busy.add(after.owner(change.key))
        return busy

    def _find_moving(self, members: Collection[str]) -> set[str]:
        """Return the members with a pending push."""
        sources = [watch.source for watch in self.mirror.watches if watch.pushed]
        changes = Change.objects.using(outbox.using()).filter(
            mirror=self.mirror.name, source__in=sources, applied_at__isnull=True
        )
        keys = changes.values_list("key", flat=True).iterator(chunk_size=BATCH * 10)
        moving: set[str] = set()
        for key in keys:
            member, _, _ = key.partition(":")  # the first column of a pushed row's key
            if member in members:
                moving.add(member)
        return moving

    def _judge_window(self, owner: str, stored: Stored, target: Target, moving: Collection[str]) -> list[Difference]:
        """Return the differences of one window. For a window that must not exist, this is a single one."""
        # A missing window is cold, which is no fault: its next reader has it made.
        if not stored:
            return []
        name = self.mirror.name
        key = self.mirror.record_key(owner)
        computed = get_scores(target)
        # Members that move in other windows leave nothing open about this one.
        moving = {member for member in moving if member in stored or member in computed}
        settled = self.kind.settle(owner, stored, target, moving)
        if not settled.entries:
            return [Difference(name, owner, "stray", key, None, None, f"{len(stored)} members")]
        wanted = get_scores(settled)
        found: list[Difference] = []
        for member in wanted | stored:
            expected = wanted.get(member)
            present = stored.get(member)
            if member not in moving and expected != present:
                entry = Scored(key, member, present or 0.0)
                found.append(_describe_member(name, owner, entry, expected, present))
        return found


def _describe_member(
    mirror: str, owner: str, entry: Scored, expected: float | None, present: float | None
) -> Difference:
    """Return the difference of one member. expected, present: its scores by SQL and in Redis, or None."""
    kind: Kind = "stale"
    if expected is None:
        kind = "stray"
    elif present is None:
        kind = "missing"
    return Difference(mirror, owner, kind, entry.key, entry, _show_score(expected), _show_score(present))


def _show_score(score: float | None) -> str | None:
    if score is None:
        return None
    return repr(float(score))


def _find_place(difference: Difference) -> tuple[str, str]:
    """Return the owner and the member that differ, "" for a window that must not exist."""
    entry = difference.entry
    if isinstance(entry, Scored):
        return difference.pk, entry.member
    return difference.pk, ""


def in_batches(windows: Windows, owners: Sequence[str]) -> list[list[str]]:
    """Return the owners in lists of the size that is read together."""
    size = windows.kind.limit_batch(BATCH)
    return [list(owners[start : start + size]) for start in range(0, len(owners), size)]


class LazyVerification(Verification):
    """The verification of a mirror with lazy windows: those that exist in Redis."""

    needs_keys_for_sample = True

    def __init__(self, windows: Windows, progress: ProgressCallback) -> None:
        self.mirror = windows.mirror
        self.windows = windows
        self.progress = progress

    def take(self, keys: list[str]) -> None:
        """Collect the keys in this list that belong to the mirror."""
        self.windows.collect_owners(keys)

    def result(self) -> list[Difference]:
        """Return the lasting differences of all windows."""
        found = self._find_differences(list(self.windows.owners))
        note_result(self.mirror.name, len(found))
        return found

    def some(self, count: int) -> list[Difference]:
        """Return the differences of ``count`` random windows."""
        return self._find_differences(self.windows.choose_owners(count))

    def _find_differences(self, owners: list[str]) -> list[Difference]:
        found: list[Difference] = []
        for batch in in_batches(self.windows, owners):
            found += self.windows.find_differences(batch)
            self.progress(self.mirror.name, len(batch))
        return found
