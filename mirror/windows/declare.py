"""Declarations of windows: the newest rows of each owner."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from mirror.declare.mirrors import Mirror, can_hold, get_primary
from mirror.utils.rows import all_rows

SENTINEL: Final = "0"  # this member's score gives the state of a lazy window:
WHOLE: Final = 0.0  # the window holds all rows
CUT: Final = -1.0  # SQL has more rows
MAKING: Final = -2.0  # a warm-up is in progress; readers treat the window as cold


class Reached(NamedTuple):
    """A window that a pushed row concerns.

    owner: the window's owner. member: the row's id. source: the row's author, as a member of the sets in
    ``WindowMirror.sources``, or "" to skip them. shown: whether the row belongs in the window; otherwise it is
    removed.
    """

    owner: str
    member: int
    source: str
    shown: bool


class WindowMirror(Mirror):
    """The newest rows of each owner, in a sorted set of at most ``length`` ids. A row's id is its member and score.

    A window is recomputed when a change names its owner. An eager window exists whenever it has members. A lazy one
    exists while it is read. It has the member ``SENTINEL``, with score ``WHOLE`` if it holds all rows and ``CUT``
    if SQL has more; without the sentinel it is cold. Rows can be pushed into lazy windows.
    """

    mirror_kind = "window"
    has_record = False
    lists_ids = True
    length: ClassVar[int]
    lazy: ClassVar[bool] = False
    life_seconds: ClassVar[int] = 0  # of an unread lazy window; 0: unlimited

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return the windows of ``pks``, without the empty ones."""
        return self.newest(pks, self.length + 1 if self.lazy else self.length)

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        """Return up to ``limit`` ids for each owner, newest first, from SQL, in a fixed number of queries."""
        raise NotImplementedError

    @classmethod
    def is_of_rows(cls) -> bool:
        """Return whether the owners are rows of ``model``. Otherwise ``keys_after`` lists them."""
        return cls.keys_after is Mirror.keys_after

    def is_possible(self, pk: str) -> bool:
        return can_hold(get_primary(self.model), pk) if self.is_of_rows() else super().is_possible(pk)

    def owners(self, pks: Sequence[str]) -> set[str]:
        """Return the existing owners among ``pks``: only they have lazy windows. Default: rows of ``model``."""
        possible = [pk for pk in pks if can_hold(get_primary(self.model), pk)]
        rows = all_rows(self.model).filter(pk__in=possible)
        return {str(pk) for pk in rows.values_list("pk", flat=True)}

    def reach(self, rows: Sequence[str], after: str | None, limit: int) -> list[Reached]:
        """Return up to ``limit`` windows that these pushed rows concern, ordered by owner, after the owner
        ``after``.

        ``rows`` are keys of changes; a row may have been deleted since. There are several rows only if ``after`` is
        None. Whether a row is shown may depend on the row itself, on ``sources``, and on tables that are watched
        with ``via``. With any other dependency, a late delivery could undo a recompute.
        """
        raise NotImplementedError

    def sources(self, owner: str) -> tuple[str, str]:
        """Return two sets in the window's slot: the authors to show, and the authors to leave out in any case.

        The mirrors in ``after`` maintain the sets. With them, Redis refuses late rows of authors no longer shown.
        """
        raise NotImplementedError
