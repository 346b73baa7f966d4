"""Summaries: a list as the record of a single row."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mirror.comparison.targets import Stored
from mirror.declare.mirrors import SummaryMirror
from mirror.kinds.base import touch
from mirror.kinds.records import JsonKind
from mirror.redis.session import Command


class SummaryKind(JsonKind):
    """A record as a list."""

    mirror: SummaryMirror
    declaration = SummaryMirror
    needed = ("record_key", "items")
    can_share = False  # its drains often conflict

    def keys(self, pks: Iterable[str]) -> list[str]:
        return [self.mirror.record_key("") for _ in pks]

    def watches(self, pks: Sequence[str]) -> list[str]:
        return [self.mirror.record_key("")]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("LRANGE", key, 0, -1) for key in self.keys(pks)]

    def read_states(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Stored]:
        states: list[Stored] = []
        for pk, reply in zip(pks, replies, strict=True):
            # A reader may ask for any key, and all keys lead to the one list. An empty list is a missing key.
            if pk == "" and reply:
                states.append([item.decode(errors="replace") for item in reply])
            else:
                states.append(None)
        return states

    @staticmethod
    def encode(record: Any) -> Stored:
        return list(map(str, record))

    def decode(self, stored: Stored) -> Any:
        return stored

    def write(self, owns: Mapping[str, Stored]) -> list[Command]:
        commands: list[Command] = []
        for key, own in zip(self.keys(owns), owns.values(), strict=True):
            if own is None:
                commands += touch(key)
            else:
                commands.append(("DEL", key))  # RPUSH would append to the earlier list
                commands.append(("RPUSH", key, *own))
        return commands

    def list_rows(self) -> None:
        return None

    def count_rows(self) -> int | None:
        return 1
