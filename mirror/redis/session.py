"""A Redis connection held for WATCH ... EXEC, with the fewest round trips.

redis-py's pipeline sends WATCH and each read after it in separate round trips. Here a list of commands shares one
round trip, including watched reads.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from mirror.redis.types import RedisClient

if TYPE_CHECKING:
    from mirror.redis.pool import MirrorPool

Command = tuple[Any, ...]


def get_pool(redis: RedisClient) -> "MirrorPool":
    """Return the pool of a client, with its own type."""
    return cast("MirrorPool", redis.connection_pool)


def is_cluster(redis: RedisClient) -> bool:
    """Return whether a client is one of a cluster."""
    return bool(getattr(redis.connection_pool, "of_cluster", False))


def set_with_transaction(key: str, value: str) -> list[Command]:
    """Return commands for ``execute`` that set a string which proves that data is complete.

    While a server loads its append-only file, it drops transactions that its user "default" may not execute. A proof
    must not survive them. Two writes are needed: Redis 7 stores a transaction with one write as a single command.
    """
    return [("SET", key, ""), ("SET", key, value)]


class Conflict(Exception):
    """A watched key has changed, so nothing was written."""


class Session:
    """Context manager: a connection from the pool of ``redis``, which is returned without watches."""

    def __init__(self, redis: RedisClient) -> None:
        self._pool = get_pool(redis)

    def __enter__(self) -> "Session":
        self._connection = self._pool.get_connection()
        self._watching = False
        self._posted = 0  # number of commands whose replies were not read
        self._then = 0  # number of those after a transaction
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            is_usable = kind is None or issubclass(kind, Conflict)
            if self._posted or not is_usable:
                # Closing it ends its watches and pending replies.
                self._connection.disconnect()
            elif self._watching:
                self.ask([("UNWATCH",)])
        finally:
            self._pool.release(self._connection)

    @property
    def incarnation(self) -> str:
        """Return the incarnation of this connection's server."""
        return self._connection.incarnation

    @property
    def of_cluster(self) -> bool:
        """Return whether the connection stands for those to the masters of a cluster."""
        return self._pool.of_cluster

    def own_names(self, found: Sequence[bytes]) -> Sequence[bytes]:
        """Return names of keys from SCAN as code knows them: without the prefix."""
        packer = self._pool.packer
        return packer.names(found) if packer else found

    def ask(self, commands: Sequence[Command]) -> list[Any]:
        """Send all commands in one round trip and return their replies. Raises the first error among them."""
        self.post(commands)
        return self.collect()

    def post(self, commands: Sequence[Command]) -> None:
        """Send the commands without waiting for the replies, so that Redis works in the background."""
        self._connection.post(commands)
        self._posted = len(commands)

    def collect(self) -> list[Any]:
        """Return the replies to the posted commands. Raises the first error among them."""
        return _raise_first(self._collect_posted())

    def watch_and_ask(self, keys: Sequence[str], commands: Sequence[Command]) -> list[Any]:
        """Watch ``keys`` and send ``commands``, in one round trip. Return the replies to ``commands``."""
        return self.ask_watching([("WATCH", *keys), *commands])[1:]

    def ask_watching(self, commands: Sequence[Command]) -> list[Any]:
        """Send ``commands``, which contain a WATCH. Return the replies."""
        self._watching = True
        return self.ask(commands)

    def execute(self, commands: Sequence[Command]) -> list[Any]:
        """Send MULTI, the commands and EXEC in one round trip, and check every reply.

        Raises Conflict if a watched key has changed, and the first error among the replies. After an error of one
        command, Redis still executes the others.
        """
        self.post_transaction(commands)
        return self.collect_transaction()

    def post_transaction(self, commands: Sequence[Command], then: Sequence[Command] = ()) -> None:
        """Post a transaction, and commands after it (a WATCH for the next one), without waiting for the replies."""
        self.post([("MULTI",), *commands, ("EXEC",), *then])
        self._then = len(then)

    def collect_transaction(self) -> list[Any]:
        """Return the replies to the posted transaction and to the commands after it. Raises as ``execute`` does."""
        replies = self._collect_posted()
        end = len(replies) - self._then
        *queued, done = replies[:end]
        later = replies[end:]
        # EXEC ends all watches, and commands after it may begin others.
        self._watching = self._then > 0
        self._then = 0
        _raise_first(queued)
        # The reply to EXEC if a watched key has changed.
        if done is None:
            raise Conflict
        executed = done if isinstance(done, list) else [done]  # an error of EXEC itself
        return _raise_first(executed + later)

    def _collect_posted(self) -> list[Any]:
        replies = self._connection.collect(self._posted)
        self._posted = 0
        return list(replies)


def _raise_first(replies: list[Any]) -> list[Any]:
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies
