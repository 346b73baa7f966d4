"""Clients for Redis: what a connection learns when it opens, and a breaker for when it does not.

``PoolFactory`` goes into django-redis' ``CONNECTION_FACTORY``, ``MirrorPool`` into its
``CONNECTION_POOL_CLASS``. The pool's connections ask the server who it is as they open (its *incarnation*:
run id and replication id), so that a server that was restarted or replaced is noticed before anything is
read from it; and they tell ``mirror.recorder`` what they send.
"""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django_redis import get_redis_connection
from django_redis.pool import ConnectionFactory
from hiredis import pack_command
from redis import Redis
from redis.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import (
    AskError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror import prefix, recorder
from mirror.conf import setting
from mirror.session import Session

# What says "Redis is away", as opposed to "this command is wrong". redis-py has classes for some error replies, and
# takes the word that they begin with off their text; the others are known by it.
AWAY = (
    RedisConnectionError,
    RedisTimeoutError,
    AskError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    TryAgainError,
)
AWAY_CODES = {
    "ASK", "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "MOVED", "NOAUTH", "NOPERM", "NOREPLICAS", "OOM",
    "READONLY", "TRYAGAIN", "UNKILLABLE",
}  # fmt: skip
# The code of an error reply. Redis 6.2 puts the code of a command that a script ran behind the place in the script.
_CODE = re.compile(r"(?:^|@user_script: ?\d+: )-?([A-Z]+)\b")
_FORBIDDEN_IN_SCRIPT = "The user executing the script can't"  # Redis 6.2, which gives no code


def is_away(error: BaseException) -> bool:
    """Whether ``error`` is the server's state and may pass, rather than the fault of one key."""
    if isinstance(error, AWAY):
        return True
    text = str(error).rpartition(" of pipeline caused error: ")[2]  # redis-py puts the command in front
    return isinstance(error, ResponseError) and (
        not AWAY_CODES.isdisjoint(_CODE.findall(text)) or _FORBIDDEN_IN_SCRIPT in text
    )


def incarnation_of(info: dict[str, Any]) -> str:
    """Which life of which server an INFO reply comes from: run id and replication id, shortened."""
    return f"{info['run_id'][:20]}:{info['master_replid'][:20]}"


def _parse_info(raw: bytes | str) -> dict[str, str]:
    text = raw.decode() if isinstance(raw, bytes) else raw
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


class _Learning:
    """Mixin for redis-py's connections: learn the incarnation on connect, record what is sent."""

    pool: "MirrorPool"
    incarnation = ""
    _greeting = False

    def on_connect_check_health(self, check_health: bool = True) -> None:
        self._greeting = True
        try:
            super().on_connect_check_health(check_health=check_health)  # type: ignore[misc]
            self.incarnation = self._ask()
            self.pool.incarnation = self.incarnation
        finally:
            self._greeting = False

    def _ask(self) -> str:
        info: dict[str, str] = {}
        for section in ("server", "replication"):
            self.send_command("INFO", section, check_health=False)
            info |= _parse_info(self.read_response())
        return incarnation_of(info)

    def _connect(self) -> Any:
        try:
            return super()._connect()  # type: ignore[misc]
        except TimeoutError:
            recorder.timed_out(self.socket_connect_timeout)  # type: ignore[attr-defined]
            raise

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().read_response(*args, **kwargs)  # type: ignore[misc]
        except RedisTimeoutError:
            recorder.timed_out(self.socket_timeout)  # type: ignore[attr-defined]
            raise

    def send_command(self, *args: Any, **kwargs: Any) -> None:
        if not self._greeting:
            recorder.redis_sent([args])
        super().send_command(*args, **kwargs)  # type: ignore[misc]

    def pack_commands(self, commands: Iterable[Any]) -> Any:
        if recorder.active():
            commands = list(commands)
            recorder.redis_sent(commands)
        return super().pack_commands(commands)  # type: ignore[misc]

    def post(self, commands: Sequence[tuple[Any, ...]]) -> None:
        """Send all commands at once. redis-py's own way takes three times as long for thousands of them."""
        recorder.redis_sent(commands)
        self.send_packed_command([b"".join(map(self.pool.pack, commands))])  # type: ignore[attr-defined]

    def collect(self, count: int) -> list[Any]:
        """``count`` replies; those that are errors are given back, not raised.

        redis-py's ``read_response`` spends 5 us a reply on what has to be done once for all of them.
        """
        try:
            read = self._parser.read_response  # type: ignore[attr-defined]
            return [read() for _ in range(count)]
        except OSError as error:
            if isinstance(error, TimeoutError):
                recorder.timed_out(self.socket_timeout)  # type: ignore[attr-defined]
            self.disconnect()  # type: ignore[attr-defined]
            raise RedisConnectionError(f"Error while reading: {error}") from error
        except BaseException:
            self.disconnect()  # type: ignore[attr-defined]
            raise


class LearningConnection(_Learning, Connection):
    """Over TCP."""


class LearningSSLConnection(_Learning, SSLConnection):
    """Over TLS."""


class LearningUnixConnection(_Learning, UnixDomainSocketConnection):
    """Over a unix socket."""


_LEARNING = {
    Connection: LearningConnection,
    SSLConnection: LearningSSLConnection,
    UnixDomainSocketConnection: LearningUnixConnection,
}


class MirrorPool(ConnectionPool):
    """A pool that knows which incarnation of the server its newest connection speaks to.

    packer: adds a prefix to the keys of each command; None: there is none.
    """

    incarnation: str = ""
    asked_at: float = 0.0

    def __init__(
        self, connection_class: type = Connection, command_packer: prefix.Packer | None = None, **kwargs: Any
    ) -> None:
        self.packer = command_packer
        self.pack: Callable[[Any], Any] = command_packer.pack_command if command_packer else pack_command
        self._prefixed: dict[str, Redis] = {}
        super().__init__(_LEARNING.get(connection_class, connection_class), **kwargs, command_packer=command_packer)

    def make_connection(self) -> Any:
        connection: Any = super().make_connection()
        connection.pool = self
        return connection

    def prefixed(self, redis: Any, text: str) -> Redis:
        """Return the client like ``redis``, whose pool this is, that puts ``text`` before each key."""
        if text not in self._prefixed:
            packer = prefix.Packer(text)
            pool = MirrorPool(
                self.connection_class,
                max_connections=self.max_connections,
                **self.connection_kwargs | {"command_packer": packer},
            )
            self._prefixed.setdefault(text, prefix.strip_replies(type(redis)(connection_pool=pool), packer))
        return self._prefixed[text]

    def disconnect(self, inuse_connections: bool = True) -> None:
        super().disconnect(inuse_connections)
        for redis in self._prefixed.values():
            redis.connection_pool.disconnect(inuse_connections)


class PoolFactory(ConnectionFactory):
    """Gives each alias connections with its own time-outs.

    django-redis has one pool for each URL, with the time-outs of whichever alias asked first: requests would
    wait as long as the relay may.
    """

    def get_or_create_connection_pool(self, params: dict[str, Any]) -> Any:
        key = f"{params['url']} {params.get('socket_timeout')} {params.get('socket_connect_timeout')}"
        if key not in self._pools:
            self._pools[key] = self.get_connection_pool(params)
        return self._pools[key]


class Breaker:
    """Leaves Redis alone for a while after it failed, so that a hung server costs one time-out, not many.

    One for each process: after a failure every call fails at once, until the time is over; then one is
    let through and decides again. clock: a monotonic one, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._until, self._doubtful_until = clock, 0.0, 0.0

    def open(self) -> bool:
        """Whether Redis is to be left alone now."""
        return self._clock() < self._until

    def failed(self) -> None:
        """Note that Redis did not answer."""
        self._until = self._clock() + float(setting("BREAKER_SECONDS"))
        self._doubtful_until = self._clock() + float(setting("HEARTBEAT_SECONDS"))

    def failed_lately(self) -> bool:
        """Whether a failure is younger than the oldest heartbeat that readers believe."""
        return self._clock() < self._doubtful_until

    def reset(self) -> None:
        """Forget the failure."""
        self._until = self._doubtful_until = 0.0


breaker = Breaker()


def client() -> Redis:
    """The client of requests: short time-outs."""
    return with_prefix(get_redis_connection(setting("ALIAS")), prefix.current())


def relay_client() -> Redis:
    """The client of workers and commands: it can wait longer."""
    return with_prefix(get_redis_connection(setting("RELAY_ALIAS") or setting("ALIAS")), prefix.current())


def with_prefix(redis: Any, text: str) -> Redis:
    """Return the client that puts ``text`` before each key; ``redis`` itself if there is nothing to add."""
    found: Redis = redis.connection_pool.prefixed(redis, text) if text else redis
    return found


def incarnation(redis: Any, *, ask: bool = False) -> str:
    """The incarnation that ``redis`` speaks to: as learned on connect, or asked for now.

    Raises redis-py's errors when the server does not answer.
    """
    pool = redis.connection_pool
    if ask or not pool.incarnation:
        with Session(redis) as session:
            server, replication = map(_parse_info, session.ask([("INFO", "server"), ("INFO", "replication")]))
        found = incarnation_of(server | replication)
        if found != pool.incarnation:  # idle connections learned another name: let them learn again
            pool.disconnect(inuse_connections=False)
            pool.incarnation = found
    return str(pool.incarnation)


__all__ = ["RedisError", "breaker", "client", "incarnation", "is_away", "relay_client"]
