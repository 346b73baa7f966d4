"""The expected content of Redis for one row."""

from collections.abc import Callable
from typing import Any

from mirror.declare.entries import Contribution
from mirror.declare.mirrors import Record

Stored = Any  # the decoded value of a row's own key: bytes, a dict, a list, or None


class Target:
    """The expected content of Redis for one row. own: the value of its own key, or None without one.

    entries: also as a function, for a drain, which needs all of them only for new rows. record: the one that
    ``entries`` are derived from, if any.
    """

    __slots__ = ("_entries", "own", "record")

    def __init__(
        self,
        own: Stored,
        entries: list[Contribution] | Callable[[], list[Contribution]],
        record: Record | None = None,
    ) -> None:
        self.own, self._entries, self.record = own, entries, record

    @property
    def entries(self) -> list[Contribution]:
        """Return all entries of the row."""
        if callable(self._entries):
            self._entries = self._entries()
        return self._entries

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and (self.own, self.entries) == (other.own, other.entries)


ABSENT = Target(None, [])
