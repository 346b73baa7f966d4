"""Shapes of mirrors without records of rows: edges and summaries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mirror.declare import values
from mirror.declare.entries import Contribution
from mirror.declare.mirrors import EdgeMirror, SummaryMirror
from mirror.kinds.records import JsonShape, Said, Target, touch
from mirror.outbox import changes as outbox
from mirror.redis import naming
from mirror.redis.session import Command

SUMMED_UP = 2000  # changes that one drain of a summary applies besides the requested ones


class EdgeShape(JsonShape):
    """An edge without a record. Its key names both ends, so its entries are known without reading."""

    mirror: EdgeMirror

    def watched(self, pk: str) -> str:
        return naming.guard(self.mirror.name, pk)

    def watches(self, pks: Sequence[str]) -> list[str]:
        return list(map(self.watched, pks))

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return []

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        return [None] * len(pks)

    def before(self, pk: str, said: Said) -> Iterable[Contribution]:
        return self.mirror.entries(pk)

    def wanted(self, pks: Sequence[str], said: Sequence[Said]) -> dict[str, Target]:
        return self.targets(pks)

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        present, targets = self.mirror.present, {}
        for pk, value in self.load(pks).items():
            entries = values.list_entries(self.mirror.name, pk, present(pk, value))
            targets[pk] = Target(None, entries)
        return targets

    def finish(self, owns: Mapping[str, Said]) -> list[Command]:
        return []

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        return [command for pk in owns for command in touch(self.watched(pk))]


class SummaryShape(JsonShape):
    """A list. Every changed row makes it be written again."""

    mirror: SummaryMirror
    sums_up = True

    def pending(self, pks: Sequence[str]) -> dict[str, list[outbox.Pending]]:
        """Return all pending changes, if these rows have any.

        The list is read from all rows, so the first of many drains does the work of all.
        """
        found, wanted = outbox.pending_at_all(self.mirror.name, SUMMED_UP), set(pks)
        if len(found) == SUMMED_UP:  # the changes of these rows may be missing
            own = outbox.pending_of(self.mirror.name, pks).values()
            found = list({change.id: change for changes in (found, *own) for change in changes}.values())
        return {pks[0]: found} if any(change.key in wanted for change in found) else {}

    def watched(self, pk: str) -> str:
        return self.mirror.record_key("")

    def watches(self, pks: Sequence[str]) -> list[str]:
        return [self.mirror.record_key("")]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("LRANGE", self.mirror.record_key(""), 0, -1)]

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        return [[item.decode(errors="replace") for item in replies[0]] or None] * len(pks)

    def before(self, pk: str, said: Said) -> Iterable[Contribution]:
        return ()

    def wanted(self, pks: Sequence[str], said: Sequence[Said]) -> dict[str, Target]:
        return self.targets(pks)

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        items = [str(item) for item in self.mirror.items()]
        return dict.fromkeys(pks, Target(items, [])) if items else {}

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        key, items = self.mirror.record_key(""), next(iter(owns.values()))
        if items is None:
            return touch(key)
        return [("DEL", key), ("RPUSH", key, *items)]
