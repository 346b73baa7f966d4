"""Summaries: one list for all rows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from mirror.comparison.targets import Stored, Target
from mirror.declare.entries import Contribution
from mirror.declare.mirrors import SummaryMirror
from mirror.kinds.base import Kind, touch
from mirror.outbox import changes as outbox
from mirror.redis.session import Command

MAX_SUMMED_UP: Final = 2000  # changes that one drain of a summary applies besides the requested ones


class SummaryKind(Kind):
    """A list. Every changed row makes it be written again."""

    mirror: SummaryMirror
    declaration = SummaryMirror
    needed = ("record_key", "items")
    can_share = False  # drains of a summary often conflict

    def pending(self, pks: Sequence[str]) -> dict[str, list[outbox.Pending]]:
        """Return all pending changes, if these rows have any.

        The list is read from all rows, so the first of many drains does the work of all.
        """
        found, wanted = outbox.pending_at_all(self.mirror.name, MAX_SUMMED_UP), set(pks)
        if len(found) == MAX_SUMMED_UP:  # the changes of these rows may be missing
            own = outbox.pending_of(self.mirror.name, pks).values()
            found = list({change.id: change for changes in (found, *own) for change in changes}.values())
        return {pks[0]: found} if any(change.key in wanted for change in found) else {}

    def list_busy(self, pks: Sequence[str]) -> Collection[str]:
        return pks if outbox.has_unapplied(self.mirror.name) else ()

    def watched(self, pk: str) -> str:
        return self.mirror.record_key("")

    def watches(self, pks: Sequence[str]) -> list[str]:
        return [self.mirror.record_key("")]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("LRANGE", self.mirror.record_key(""), 0, -1)]

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Stored]:
        return [[item.decode(errors="replace") for item in replies[0]] or None] * len(pks)

    def find_row(self, key: str) -> str | None:
        return "" if key == self.mirror.record_key("") else None

    def before(self, pk: str, stored: Stored) -> Iterable[Contribution]:
        return ()

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        items = [str(item) for item in self.mirror.items()]
        return dict.fromkeys(pks, Target(items, [])) if items else {}

    def write(self, owns: Mapping[str, Stored]) -> list[Command]:
        key, items = self.mirror.record_key(""), next(iter(owns.values()))
        if items is None:
            return touch(key)
        return [("DEL", key), ("RPUSH", key, *items)]

    def list_rows(self) -> None:
        return None

    def count_rows(self) -> int | None:
        return 1
