"""One Redis connection held for a WATCH ... EXEC, with as few round trips as it can take.

redis-py's pipeline sends WATCH, and each read after it, in round trips of their own; here a whole list of
commands goes in one, watched reads included.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Any

Command = tuple[Any, ...]


class Conflict(Exception):
    """Something that was watched has changed: nothing was written."""


class Session:
    """Context manager: a connection from the pool of ``redis``; it goes back without watches."""

    def __init__(self, redis: Any) -> None:
        self._pool = redis.connection_pool

    def __enter__(self) -> "Session":
        self._connection = self._pool.get_connection()
        self._watching = False
        self._posted = self._then = 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._posted or not (kind is None or issubclass(kind, Conflict)):
                self._connection.disconnect()  # what is still under way, or watched, dies with it
            elif self._watching:
                self.ask([("UNWATCH",)])
        finally:
            self._pool.release(self._connection)

    @property
    def incarnation(self) -> str:
        """Which life of which server this connection speaks to."""
        return str(self._connection.incarnation)

    def own_names(self, found: Sequence[bytes]) -> Sequence[bytes]:
        """Return the names of keys that SCAN found as code knows them: without the prefix."""
        packer = self._pool.packer
        return packer.names(found) if packer else found

    def ask(self, commands: Sequence[Command]) -> list[Any]:
        """Send all commands in one round trip; one reply each. Raises the first error among them."""
        self.post(commands)
        return self.collect()

    def post(self, commands: Sequence[Command]) -> None:
        """Send the commands and leave the replies: Redis works while the caller does something else."""
        self._connection.post(commands)
        self._posted = len(commands)

    def collect(self) -> list[Any]:
        """The replies to what was posted. Raises the first error among them."""
        return _raise_first(self._replies())

    def watch_and_ask(self, keys: Sequence[str], commands: Sequence[Command]) -> list[Any]:
        """Watch ``keys``, then ask ``commands``, in one round trip."""
        return self.ask_watching([("WATCH", *keys), *commands])[1:]

    def ask_watching(self, commands: Sequence[Command]) -> list[Any]:
        """Ask ``commands``, with a WATCH among them."""
        self._watching = True
        return self.ask(commands)

    def execute(self, commands: Sequence[Command]) -> list[Any]:
        """Send MULTI, the commands and EXEC in one round trip; every reply is looked at.

        Raises Conflict when a watched key was changed, and the first error among the replies (Redis
        carries out the other commands of the transaction all the same).
        """
        self.post_transaction(commands)
        return self.collect_transaction()

    def post_transaction(self, commands: Sequence[Command], then: Sequence[Command] = ()) -> None:
        """Send a transaction, and commands that come after it (a WATCH for the next one), and leave the replies."""
        self.post([("MULTI",), *commands, ("EXEC",), *then])
        self._then = len(then)

    def collect_transaction(self) -> list[Any]:
        """The replies to a transaction that was posted, then those to what came after it. Raises as ``execute``."""
        replies, then = self._replies(), self._then
        *queued, done = replies[: len(replies) - then]
        self._watching, self._then = then > 0, 0
        _raise_first(queued)
        if done is None:
            raise Conflict
        return _raise_first([*(done if isinstance(done, list) else [done]), *replies[len(replies) - then :]])

    def _replies(self) -> list[Any]:
        replies = self._connection.collect(self._posted)
        self._posted = 0
        return list(replies)


def _raise_first(replies: list[Any]) -> list[Any]:
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies
