"""What an application writes down about a structure that lives in Redis first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from mirror import naming


class Backup:
    """Items (a cart, a bitmap, when a token was last seen) that Redis has first and SQL gets soon after.

    An item is named by a text. Its value is whatever ``said`` and ``load`` make of it; both give equal values for
    equal facts. Everything generic (flush, restore, verify, status) needs only what is declared here.

    How Redis is read is declared either by ``ask`` and ``said``, so that readers (``access.fetch``) need one round
    trip, or by ``read`` alone where one round trip is not enough.
    """

    name: ClassVar[str]
    every_seconds: ClassVar[float] = 1.0  # how often marked items are taken to SQL
    # Whether Redis has to hold every item that SQL has (a ranking). If not, what Redis lost is put back when it
    # is asked for, and only what it still holds is compared.
    whole: ClassVar[bool] = False

    def marks(self) -> str:
        """Key of the sorted set of items that SQL does not have yet (score: version)."""
        return naming.marks(self.name)

    def ask(self, pipe: Any, items: Sequence[str]) -> None:
        """Add the commands that read these items to a pipeline."""
        raise NotImplementedError

    def said(self, items: Sequence[str], replies: Sequence[Any]) -> Mapping[str, Any]:
        """What the replies to ``ask`` say of these items; left out: nothing."""
        raise NotImplementedError

    def read(self, redis: Any, items: Sequence[str]) -> Mapping[str, Any]:
        """What Redis says of these items; left out: nothing. In as few round trips as can be."""
        pipe = redis.pipeline(transaction=False)
        self.ask(pipe, items)
        return self.said(items, pipe.execute())

    def save(self, values: Mapping[str, Any]) -> None:
        """Write these items to SQL, in a fixed number of statements. Runs in a transaction, items in ascending order.

        A value of None: Redis has the item no more, and was marked so. What SQL has and is newer must stay, for
        Redis may have come back from an older file, and two flushers may end in the wrong order: take the greater,
        merge, or compare versions. None has no version: where an item can be deleted, and made again, keep a version
        of it and let ``said`` give an empty value with that version instead.
        """
        raise NotImplementedError

    def load(self, items: Sequence[str]) -> Mapping[str, Any]:
        """What SQL says of these items; left out: nothing. A fixed number of statements."""
        raise NotImplementedError

    def put_back(self, redis: Any, values: Mapping[str, Any]) -> None:
        """Write these values, which come from SQL, to Redis; what Redis has and is newer must stay. Marks nothing."""
        raise NotImplementedError

    def items_after(self, after: str | None, limit: int) -> list[str]:
        """The next ``limit`` items that SQL has, in ascending order (keyset; never OFFSET)."""
        raise NotImplementedError

    def items_lost(self, after: str | None, limit: int) -> list[str]:
        """As ``items_after``, but only what a Redis that was lost gets back by itself. Default: everything.

        ``backup restore`` brings back the rest.
        """
        return self.items_after(after, limit)

    def kept(self, values: Mapping[str, Any]) -> Iterable[str]:
        """Of what ``save`` was given, now that it is committed, the items that SQL has: only their marks are cleared.

        Default: all, without asking SQL.
        """
        return values

    def scan(self, redis: Any) -> Iterator[list[str]]:
        """The items that Redis holds, in lists of about a thousand; some may come twice."""
        raise NotImplementedError

    def drop(self, redis: Any, items: Sequence[str]) -> None:
        """Take items out of Redis that belong to nothing in SQL (see ``is_stray``). Only where there can be such."""

    def is_stray(self, items: Sequence[str]) -> Sequence[str]:
        """Those of ``items`` (in Redis, not in SQL, not marked) that ought not to exist. Default: none.

        The others are what SQL has lost, or what was never marked: ``backup restore`` marks them.
        """
        return ()

    @property
    def asks(self) -> bool:
        """Whether Redis is read by ``ask`` and ``said``."""
        return type(self).ask is not Backup.ask and type(self).read is Backup.read
