"""Connections that learn the server's incarnation, and their pools.

``PoolFactory`` belongs in django-redis' ``CONNECTION_FACTORY``, and ``MirrorPool`` in its
``CONNECTION_POOL_CLASS``. The pool's connections ask the server for its *incarnation* (run id and replication id)
when they open. So a restarted or replaced server is noticed before any data is read from it. They also report their
commands to ``mirror.redis.recorder``.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from django_redis.pool import ConnectionFactory
from redis.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror.redis import naming, recorder
from mirror.redis.keys import prefix
from mirror.redis.keys.urls import is_cluster_url
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.redis.wire import pack_command
from mirror.utils.counters import round_trip_ended


def incarnation_of(info: dict[str, Any]) -> str:
    """Return the incarnation in an INFO reply: run id and replication id, shortened. Raises UnknownIncarnation."""
    try:
        return f"{info['run_id'][:20]}:{info['master_replid'][:20]}"
    except KeyError as error:
        raise UnknownIncarnation(f"INFO does not tell {error} of the server") from error


def parse_info(raw: bytes | str) -> dict[str, str]:
    """Return the fields of an INFO reply."""
    text = raw.decode() if isinstance(raw, bytes) else raw
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def is_in_cluster(info: dict[str, str]) -> bool:
    """Return whether a server with this INFO reply is part of a cluster. Valkey has another field than Redis."""
    return "cluster" in (info.get("redis_mode"), info.get("server_mode"))


class UnknownIncarnation(RedisConnectionError):
    """The server hides what identifies it, so its data cannot be trusted."""


class NotNamedAsCluster(RedisConnectionError):
    """The URL of a single server names a master of a cluster."""


class Learning:
    """Mixin for redis-py's connections, which learn the incarnation when they open, and record and time commands."""

    pool: "MirrorPool"
    incarnation = ""
    _greeting = False
    _sent_at = 0.0  # 0: the round trip has ended

    def on_connect_check_health(self, check_health: bool = True) -> None:
        # The questions of a new connection are neither recorded nor timed as those of its first user.
        self._greeting = True
        try:
            super().on_connect_check_health(check_health=check_health)  # type: ignore[misc]
            self.incarnation = self._ask_incarnation()
            self.pool.incarnation = self.incarnation
        finally:
            self._greeting = False

    def _ask_incarnation(self) -> str:
        info: dict[str, str] = {}
        # One after the other: only Redis 7 takes several sections at once.
        for section in ("server", "replication"):
            self.send_command("INFO", section, check_health=False)
            info |= parse_info(self.read_response())
        if is_in_cluster(info) and not self.pool.of_cluster:
            raise NotNamedAsCluster("this server is part of a Redis Cluster: its URL begins with redis+cluster://")
        return incarnation_of(info)

    def _connect(self) -> Any:
        try:
            return super()._connect()  # type: ignore[misc]
        except TimeoutError:
            recorder.timed_out(self.socket_connect_timeout)  # type: ignore[attr-defined]
            raise

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        try:
            reply = super().read_response(*args, **kwargs)  # type: ignore[misc]
        except RedisTimeoutError:
            recorder.timed_out(self.socket_timeout)  # type: ignore[attr-defined]
            raise
        self._end_round_trip()
        return reply

    def send_packed_command(self, *args: Any, **kwargs: Any) -> None:
        self._sent_at = time.perf_counter()
        super().send_packed_command(*args, **kwargs)  # type: ignore[misc]

    def _end_round_trip(self) -> None:
        if self._sent_at and not self._greeting and round_trip_ended.receivers:
            round_trip_ended.send_robust(None, seconds=time.perf_counter() - self._sent_at)
        self._sent_at = 0.0

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
        """Send all commands at once.

        A rebuild sends tens of thousands of commands. Of 0.41 s for the catalogue's, redis-py's ``pack_commands`` and
        ``read_response`` took 0.30 s.
        """
        recorder.redis_sent(commands)
        self.push(commands)

    def push(self, commands: Iterable[tuple[Any, ...]]) -> None:
        """Do the same as ``post`` without recording the commands."""
        self.send_packed_command([b"".join(map(self.pool.pack, commands))])

    def collect(self, count: int) -> list[Any]:
        """Return ``count`` replies. Errors among them are returned, not raised.

        redis-py's ``read_response`` spends 5 us per reply on work that is needed only once for all of them.
        """
        try:
            read = self._parser.read_response  # type: ignore[attr-defined]
            replies = [read() for _ in range(count)]
        except OSError as error:
            if isinstance(error, TimeoutError):
                recorder.timed_out(self.socket_timeout)  # type: ignore[attr-defined]
            self.disconnect()  # type: ignore[attr-defined]
            raise RedisConnectionError(f"Error while reading: {error}") from error
        # With unread replies, the connection would answer later commands wrongly.
        except BaseException:
            self.disconnect()  # type: ignore[attr-defined]
            raise
        self._end_round_trip()
        return replies


class LearningConnection(Learning, Connection):
    """A TCP connection."""


class LearningSSLConnection(Learning, SSLConnection):
    """A TLS connection."""


class LearningUnixConnection(Learning, UnixDomainSocketConnection):
    """A connection over a unix socket."""


_LEARNING = {
    Connection: LearningConnection,
    SSLConnection: LearningSSLConnection,
    UnixDomainSocketConnection: LearningUnixConnection,
}


class MirrorPool(ConnectionPool):
    """A pool that knows the incarnation of its newest connection.

    packer: adds a prefix to the keys of each command; None: no prefix.
    """

    incarnation: str = ""
    asked_at: float = 0.0
    of_cluster: bool = False  # whether its servers may be masters of a cluster

    def __init__(
        self, connection_class: type = Connection, command_packer: prefix.Packer | None = None, **kwargs: Any
    ) -> None:
        self.packer = command_packer
        self.pack: Callable[[Any], Any] = command_packer.pack_command if command_packer else pack_command
        self._prefixed: dict[str, RedisClient] = {}
        super().__init__(_LEARNING.get(connection_class, connection_class), **kwargs, command_packer=command_packer)

    if TYPE_CHECKING:

        def get_connection(self, *args: Any, **kwargs: Any) -> LearningConnection: ...

    def make_connection(self) -> Any:
        connection: Any = super().make_connection()
        connection.pool = self
        return connection

    def ask_incarnation(self, redis: RedisClient) -> str:
        """Ask the server for its incarnation. Raises redis-py's errors if it does not answer."""
        with Session(redis) as session:
            server, replication = session.ask([("INFO", "server"), ("INFO", "replication")])
        found = incarnation_of(parse_info(server) | parse_info(replication))
        # Idle connections learned another incarnation. New ones learn the present one.
        if found != self.incarnation:
            self.disconnect(inuse_connections=False)
            self.incarnation = found
        return found

    def list_servers(self, redis: RedisClient) -> dict[str, RedisClient]:
        """Return a client of each server by its address; "" for the only one. Those of masters add no prefix."""
        return {"": redis}

    def list_probe_keys(self) -> list[str]:
        """Return a key on each server, for a command that is refused like a write."""
        return [naming.heartbeat()]

    def prefixed(self, redis: RedisClient, text: str) -> RedisClient:
        """Return a client like ``redis``, which uses this pool, that puts ``text`` before each key."""
        if text not in self._prefixed:
            packer = prefix.Packer(text)
            prefixed = type(redis)(connection_pool=self._copy_pool(packer))
            # Another thread may have made one meanwhile: then all use the first.
            self._prefixed.setdefault(text, prefix.strip_replies(prefixed, packer))
        return self._prefixed[text]

    def _copy_pool(self, packer: prefix.Packer) -> "MirrorPool":
        """Return a pool of the same servers with another packer."""
        return MirrorPool(
            self.connection_class,
            max_connections=self.max_connections,
            **self.connection_kwargs | {"command_packer": packer},
        )

    def disconnect(self, inuse_connections: bool = True) -> None:
        super().disconnect(inuse_connections)
        # Clients with a prefix have pools of their own.
        for redis in self._prefixed.values():
            redis.connection_pool.disconnect(inuse_connections)


def _refuse_cluster(*args: Any, **options: Any) -> Any:
    raise ImproperlyConfigured('The URL is one of a cluster, whose clients need "mirror" in INSTALLED_APPS.')


class _Cluster:
    """The makers of clients and pools for a cluster (``mirror.cluster``)."""

    make_client: Callable[..., Any] = _refuse_cluster
    make_pool: Callable[[dict[str, Any]], Any] = _refuse_cluster


def register_cluster(make_client: Callable[..., Any], make_pool: Callable[[dict[str, Any]], Any]) -> None:
    """Let ``PoolFactory`` make clients and pools of a cluster with these functions."""
    _Cluster.make_client = staticmethod(make_client)
    _Cluster.make_pool = staticmethod(make_pool)


class PoolFactory(ConnectionFactory):
    """Gives each alias connections with its own time-outs.

    django-redis has one pool for each URL, with the time-outs of the alias that was used first. Requests would then
    wait as long as the relay.
    """

    def get_connection(self, params: dict[str, Any]) -> Any:
        if is_cluster_url(params["url"]):
            return _Cluster.make_client(connection_pool=self.get_or_create_connection_pool(params))
        return super().get_connection(params)

    def get_connection_pool(self, params: dict[str, Any]) -> Any:
        if is_cluster_url(params["url"]):
            return _Cluster.make_pool(params)
        return super().get_connection_pool(params)

    def get_or_create_connection_pool(self, params: dict[str, Any]) -> Any:
        key = f"{params['url']} {params.get('socket_timeout')} {params.get('socket_connect_timeout')}"
        if key not in self._pools:
            self._pools[key] = self.get_connection_pool(params)
        return self._pools[key]
