"""The masters of a cluster and their slots, with redis-py's ``NodesManager``."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis.cluster import ClusterNode, NodesManager
from redis.connection import parse_url
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import MovedError, RedisClusterException, SlotNotCoveredError

from mirror.redis.keys.urls import SCHEMES
from mirror.redis.pool import MirrorPool


class Topology:
    """The masters of a cluster and their slots, shared by all its clients in a process.

    url: of any node; ``?node=HOST:PORT`` names further ones, which are asked while it is away. options: of the
    connections. Raises ValueError, also for a node without a port.
    """

    def __init__(self, url: str, **options: Any) -> None:
        scheme, _, rest = url.partition(":")
        more = parse_qs(urlsplit(url).query).get("node", [])
        self.options = options | parse_url(f"{SCHEMES[scheme]}:{rest}")
        self.options.pop("node", None)
        if self.options.pop("db", 0) or "path" in self.options:
            # Not with the URL, which may contain a password.
            raise ValueError(f"{scheme}: a cluster has neither databases nor sockets")
        first = (self.options.pop("host", "localhost"), self.options.pop("port", 6379))
        self._nodes = [first]
        self._nodes += [_parse_node(node) for node in more]
        self._lock = threading.Lock()
        self._manager: NodesManager | None = None

    @property
    def manager(self) -> NodesManager:
        """Return the known slots. Asks a node first, if none has been asked. Raises redis-py's errors."""
        with self._lock:
            if self._manager is None:
                with _as_away():
                    self._manager = self._connect()
        return self._manager

    @property
    def is_known(self) -> bool:
        """Return whether a node has been asked."""
        return self._manager is not None

    def _connect(self) -> NodesManager:
        return NodesManager(
            [ClusterNode(host, port) for host, port in self._nodes],
            from_url=True,
            require_full_coverage=True,
            connection_pool_class=NodePool,
            **self.options,
        )

    def refresh(self, failed: str | None = None) -> None:
        """Ask the nodes for the slots again. failed: the name of a node to ask last. Raises redis-py's errors."""
        manager = self.manager
        with _as_away():
            manager.initialize(last_failed_node_name=failed)

    def note_move(self, error: MovedError) -> None:
        """Note that a slot has moved."""
        manager = self.manager
        if manager.get_node(host=error.host, port=error.port) is None:
            self.refresh()
        else:
            manager.move_slot(error)

    def list_masters(self) -> list[str]:
        """Return the names of the masters in a fixed order."""
        nodes = self.manager.get_nodes_by_server_type("primary")
        return sorted(node.name for node in nodes)

    def list_slots(self) -> list[int]:
        """Return one slot of each master."""
        # A copy: another thread may refresh the slots meanwhile.
        slots = list(self.manager.slots_cache.items())
        found = {nodes[0].name: slot for slot, nodes in slots}
        return sorted(found.values())

    def get_node(self, slot: int) -> str:
        """Return the name of a slot's master."""
        with _as_away():
            return str(self.manager.get_node_from_slot(slot).name)

    def get_pool(self, name: str) -> MirrorPool:
        """Return the connections to a node."""
        node = self.manager.get_node(node_name=name)
        if node is None:
            raise RedisConnectionError(f"{name} is no longer part of the cluster")
        if node.redis_connection is None:
            self.manager.create_redis_connections([node])
        pool: MirrorPool = node.redis_connection.connection_pool
        return pool

    def read_incarnations(self) -> dict[str, str]:
        """Return the incarnation of each master, "" if no connection has learned it yet."""
        return {name: self.get_pool(name).incarnation for name in self.list_masters()}

    def close_connections(self, inuse_connections: bool) -> None:
        """Close all connections."""
        if self._manager is not None:
            # A copy: another thread may refresh the nodes meanwhile.
            for node in list(self._manager.nodes_cache.values()):
                if node.redis_connection is not None:
                    node.redis_connection.connection_pool.disconnect(inuse_connections)


def _parse_node(node: str) -> tuple[str, int]:
    host, _, port = node.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"node={node} in the URL of a cluster is not HOST:PORT")
    return host.strip("[]"), int(port)


@contextmanager
def _as_away() -> Generator[None, None, None]:
    """Raise the errors of redis-py's cluster client as a lost connection, which they are."""
    try:
        yield
    except (RedisClusterException, SlotNotCoveredError) as error:
        raise RedisConnectionError(str(error)) from error


class NodePool(MirrorPool):
    """The connections to one node of a cluster."""

    of_cluster = True
