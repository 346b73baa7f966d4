"""One Redis connection held for a WATCH ... EXEC, with as few round trips as it can take.

redis-py's pipeline sends WATCH, and each read after it, in round trips of their own; here a whole list of
commands goes in one, watched reads included.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from redis.exceptions import ResponseError

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
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._connection.disconnect()  # what is still under way, or watched, dies with it
        elif self._watching:
            self.ask([("UNWATCH",)])
        self._pool.release(self._connection)

    @property
    def incarnation(self) -> str:
        """Which life of which server this connection speaks to."""
        return str(self._connection.incarnation)

    def ask(self, commands: Sequence[Command]) -> list[Any]:
        """Send all commands in one round trip; one reply each. Raises the first error among them."""
        replies = self._send(commands)
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def watch_and_ask(self, keys: Sequence[str], commands: Sequence[Command]) -> list[Any]:
        """Watch ``keys``, then ask ``commands``, in one round trip."""
        self._watching = True
        return self.ask([("WATCH", *keys), *commands])[1:]

    def execute(self, commands: Sequence[Command]) -> list[Any]:
        """Send MULTI, the commands and EXEC in one round trip; every reply is looked at.

        Raises Conflict when a watched key was changed, and the first error among the replies (Redis
        carries out the other commands of the transaction all the same).
        """
        *queued, done = self._send([("MULTI",), *commands, ("EXEC",)])
        self._watching = False
        for reply in queued:
            if isinstance(reply, Exception):
                raise reply
        if done is None:
            raise Conflict
        if isinstance(done, Exception):
            raise done
        for reply in done:
            if isinstance(reply, Exception):
                raise reply
        return list(done)

    def _send(self, commands: Sequence[Command]) -> list[Any]:
        connection = self._connection
        connection.send_packed_command(connection.pack_commands(commands))
        return [self._read() for _ in commands]

    def _read(self) -> Any:
        try:
            return self._connection.read_response()
        except ResponseError as error:
            return error
