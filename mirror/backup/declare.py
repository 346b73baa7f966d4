"""The declaration of a structure that lives in Redis first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from mirror.cluster.slots import find_slot
from mirror.redis import naming
from mirror.redis.clients import client
from mirror.redis.session import is_cluster
from mirror.redis.types import RedisClient, RedisPipeline


class Backup:
    """Items (a bitmap, the time when a token was last seen) that Redis has first and SQL soon after.

    An item is named by a text. Its value has the type that ``said`` and ``load`` return; both return equal values
    for equal facts. Flush, restore, verify and status need only this declaration.

    A subclass declares how to read Redis either by ``ask`` and ``said``, so that readers (``access.fetch``) need
    one round trip, or by ``read`` alone if one round trip is not enough.
    """

    name: ClassVar[str]
    label: ClassVar[Any] = ""  # the name that staff read; default: the name, translated if it is a known text
    every_seconds: ClassVar[float] = 1.0  # how often marked items are written to SQL
    # Whether Redis has to hold every item that SQL has (a ranking). If not, lost items are restored when they are read,
    # and verification compares only the items that Redis holds.
    whole: ClassVar[bool] = False

    def marks(self) -> str:
        """Return the key of the sorted set of items that SQL does not have yet (score: version)."""
        return naming.marks(self.name)

    def key_of(self, item: str) -> str | None:
        """Return a key of the item. On a cluster its mark is in this key's slot. Pure.

        Default: None. Then all data of the backup must be in the slot of ``marks()``.
        """
        return None

    def marks_of(self, item: str) -> str:
        """Return the key of the marks that a script passes together with the keys of an item."""
        key = self.key_of(item) if is_cluster(client()) else None
        return self.marks() if key is None else naming.marks_in(find_slot(key), self.name)

    def ask(self, pipe: RedisPipeline, items: Sequence[str]) -> None:
        """Add the commands that read these items to a pipeline."""
        raise NotImplementedError

    def said(self, items: Sequence[str], replies: Sequence[Any]) -> Mapping[str, Any]:
        """Return the values in the replies to ``ask``, without the items that do not exist."""
        raise NotImplementedError

    def read(self, redis: RedisClient, items: Sequence[str]) -> Mapping[str, Any]:
        """Return the values of these items in Redis, without missing items, in as few round trips as possible."""
        pipe = redis.pipeline(transaction=False)
        self.ask(pipe, items)
        return self.said(items, pipe.execute())

    def save(self, values: Mapping[str, Any]) -> None:
        """Write these items to SQL in a fixed number of statements. Runs in a transaction, items in ascending
        order.

        None stands for a marked item that Redis no longer has. Newer values in SQL must be kept, because Redis may
        have been restored from an older file, and two flushes may end in the wrong order: take the greater value,
        merge, or compare versions. None has no version. If items can be deleted and created again, keep their
        versions, and let ``said`` return an empty value with a version instead of None.
        """
        raise NotImplementedError

    def load(self, items: Sequence[str]) -> Mapping[str, Any]:
        """Return the values of these items in SQL, without missing items, in a fixed number of statements."""
        raise NotImplementedError

    def put_back(self, redis: RedisClient, values: Mapping[str, Any]) -> None:
        """Write these values from SQL to Redis, except where Redis has newer ones. Marks nothing."""
        raise NotImplementedError

    def items_after(self, after: str | None, limit: int) -> list[str]:
        """Return the next ``limit`` items in SQL in ascending order (keyset; never OFFSET)."""
        raise NotImplementedError

    def items_lost(self, after: str | None, limit: int) -> list[str]:
        """Return the next ``limit`` items that a lost Redis gets back automatically. Default: all items.

        ``backup restore`` restores the others too.
        """
        return self.items_after(after, limit)

    def kept(self, values: Mapping[str, Any]) -> Iterable[str]:
        """Return the items of ``save``, now committed, that SQL has: only their marks are cleared.

        Default: all of them, without a query.
        """
        return values

    def scan(self, redis: RedisClient) -> Iterator[list[str]]:
        """Yield the items in Redis, in lists of about a thousand. Some may be repeated."""
        raise NotImplementedError

    def drop(self, redis: RedisClient, items: Sequence[str]) -> None:
        """Delete items from Redis that have no row in SQL (see ``is_stray``). Needed only if there can be strays."""

    def is_stray(self, items: Sequence[str]) -> Sequence[str]:
        """Return the ``items`` (in Redis, not in SQL, not marked) that must not exist. Default: none.

        The others were lost by SQL or never marked: ``backup restore`` marks them.
        """
        return ()

    @property
    def asks(self) -> bool:
        """Whether Redis is read by ``ask`` and ``said``."""
        return type(self).ask is not Backup.ask and type(self).read is Backup.read
