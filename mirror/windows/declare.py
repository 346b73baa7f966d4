"""Declarations of windows: the newest rows of each owner."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from asgiref.sync import sync_to_async

from mirror.declare.mirrors import Mirror, can_hold, get_primary
from mirror.declare.questions import AskSql, Question, answer, slot
from mirror.declare.readers.structure import read_number, write_pk
from mirror.redis.types import RedisPipeline
from mirror.utils.rows import all_rows
from mirror.windows import reading
from mirror.windows.reading import CUT, MAKING, SENTINEL, WHOLE

__all__ = ["CUT", "MAKING", "SENTINEL", "WHOLE", "Reached", "WindowMirror"]


class Reached(NamedTuple):
    """A window that a pushed row concerns.

    owner: the window's owner. member: the row's id. source: the row's author, as a member of the sets in
    ``WindowMirror.sources``, or "" to skip them. shown: whether the row belongs in the window; otherwise it is
    removed. also: a second author that the sets must allow (of the post that the row replies to), or "".
    """

    owner: str
    member: int
    source: str
    shown: bool
    also: str = ""


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

    @classmethod
    def latest(cls, owner: object, limit: int, below: int | None = None) -> list[int]:
        """Return up to ``limit`` ids of the owner's rows below an id (None: the newest), newest first.

        Takes one round trip. SQL answers below the floor of the window, and for a cold one, whose warm-up is then
        requested. Raises TypeError for a declaration without ``find_below``.
        """
        mirror = slot.engine.get_mirror(cls)
        name = write_pk(owner)
        assert isinstance(mirror, WindowMirror)
        if cls.find_below is WindowMirror.find_below:
            raise TypeError(f"{cls.__qualname__} needs find_below(), by which SQL continues latest()")
        limit = read_number(limit)
        if limit <= 0:
            return []

        def add_commands(pipe: RedisPipeline) -> None:
            reading.ask(pipe, mirror, name, below, limit)
            reading.keep(pipe, mirror, name)

        def read_replies(replies: list[Any]) -> list[int]:
            found = reading.answer(replies[: reading.ASKS])
            if found is None:
                reading.warming.request(mirror, name)
                raise AskSql
            if len(found.ids) < limit and not found.whole:
                # SQL answers for the ids of the window, too: with one statement in any case.
                raise AskSql
            return found.ids

        def read_sql() -> list[int]:
            return list(mirror.find_below(name, below, limit))

        return answer(Question([cls.name], add_commands, read_replies, read_sql))

    @classmethod
    async def alatest(cls, owner: object, limit: int, below: int | None = None) -> list[int]:
        """Do the same as ``latest``, asynchronously."""
        return await sync_to_async(cls.latest)(owner, limit, below)

    def find_below(self, owner: str, below: int | None, limit: int) -> Sequence[int]:
        """Return up to ``limit`` ids of the owner's rows below an id (None: the newest), newest first, from SQL."""
        raise NotImplementedError

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return the windows of ``pks``, without the empty ones."""
        limit = self.length
        if self.lazy:
            # One more than the length shows whether SQL has further rows.
            limit += 1
        return self.newest(pks, limit)

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        """Return up to ``limit`` ids for each owner, newest first, from SQL, in a fixed number of queries."""
        raise NotImplementedError

    @classmethod
    def is_of_rows(cls) -> bool:
        """Return whether the owners are rows of ``model``. Otherwise ``keys_after`` lists them."""
        return cls.keys_after is Mirror.keys_after

    def is_possible(self, pk: str) -> bool:
        if self.is_of_rows():
            return can_hold(get_primary(self.model), pk)
        return super().is_possible(pk)

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
