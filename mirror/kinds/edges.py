"""Edges: rows without a record, whose key determines their entries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mirror.comparison.targets import Stored, Target
from mirror.declare import values
from mirror.declare.entries import Contribution
from mirror.declare.mirrors import EdgeMirror
from mirror.kinds.base import Kind, touch
from mirror.redis import naming
from mirror.redis.session import Command


class GuardedKind(Kind):
    """Rows without a key of their own. Drains watch a guard."""

    # The guard has no value: each write of it only breaks the WATCH of other drains.

    def watched(self, pk: str) -> str:
        return naming.guard(self.mirror.name, pk)

    def finish(self, owns: Mapping[str, Stored]) -> list[Command]:
        return []

    def write(self, owns: Mapping[str, Stored]) -> list[Command]:
        commands: list[Command] = []
        for pk in owns:
            commands += touch(self.watched(pk))
        return commands


class EdgeKind(GuardedKind):
    """An edge without a record. Its key names both ends, so its entries are known without reading."""

    mirror: EdgeMirror
    declaration = EdgeMirror
    needed = ("load", "entries", "families")
    key_names_entries = True
    fault_of_whole = "whole does not apply to an EdgeMirror, whose key names both ends"

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return []

    def read_states(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Stored]:
        return [None] * len(pks)

    def find_row(self, key: str) -> str | None:
        return None

    def before(self, pk: str, stored: Stored) -> Iterable[Contribution]:
        return self.mirror.entries(pk)

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        targets: dict[str, Target] = {}
        for pk, value in self.load(pks).items():
            contributed = self.mirror.present(pk, value)
            entries = values.list_entries(self.mirror.name, pk, contributed)
            # An edge has entries, and no record.
            targets[pk] = Target(None, entries)
        return targets
