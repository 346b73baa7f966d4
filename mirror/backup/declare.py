"""What an application writes down about a structure that lives in Redis first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from mirror import naming


class Backup:
    """Items (a cart, a bitmap, when a token was last seen) that Redis has first and SQL gets soon after.

    An item is named by a text. Its value is whatever ``read`` and ``load`` make of it; both give equal values
    for equal facts. Everything generic (flush, restore, verify, status) needs only what is declared here.
    """

    name: ClassVar[str]
    every_seconds: ClassVar[float] = 1.0  # how often marked items are taken to SQL
    # Whether Redis has to hold every item that SQL has (a ranking). If not, what Redis lost is put back when it
    # is asked for, and only what it still holds is compared.
    whole: ClassVar[bool] = False

    def marks(self) -> str:
        """Key of the sorted set of items that SQL does not have yet (score: version)."""
        return naming.marks(self.name)

    def read(self, redis: Any, items: Sequence[str]) -> Mapping[str, Any]:
        """What Redis says of these items; left out: nothing. In as few round trips as can be."""
        raise NotImplementedError

    def save(self, values: Mapping[str, Any]) -> None:
        """Write these items to SQL, in a fixed number of statements. Runs in a transaction, items in ascending order.

        A value of None: Redis has the item no more, and was marked so. What SQL has and is newer must stay, for
        Redis may have come back from an older file: take the greater, merge, or compare versions.
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

    def scan(self, redis: Any) -> Iterator[list[str]]:
        """The items that Redis holds, in lists of about a thousand; some may come twice."""
        raise NotImplementedError

    def drop(self, redis: Any, items: Sequence[str]) -> None:
        """Take items out of Redis that belong to nothing in SQL (see ``strays``). Only where there can be such."""

    def is_stray(self, items: Sequence[str]) -> Sequence[str]:
        """Those of ``items`` (in Redis, not in SQL, not marked) that ought not to exist. Default: none."""
        return ()
