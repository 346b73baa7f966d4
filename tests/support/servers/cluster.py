"""A private Redis Cluster: masters, and replicas if a test needs them."""

import atexit
import os
import socket
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from types import TracebackType
from typing import Any, Final, Self

from redis import Redis
from redis.exceptions import RedisError

from tests.support.servers.process import PATIENCE_SECONDS, free_port, wait_until
from tests.support.servers.redis import RedisServer, main_server

STATE: Final = "DIPTYCH_TESTS_STATE"  # the variable with the kind of server that has the state
MASTERS: Final = 3
SLOTS: Final = 16384
KEYS_AT_ONCE: Final = 1000  # moved with a slot
BUS: Final = 10_000  # the distance from a node's client port to its bus port


class RedisCluster:
    """Three masters that share the slots evenly.

    replicas: of each master. node_seconds: silence after which a master is considered failed. The default is long, so
    that a node that is merely slow is not.
    """

    def __init__(self, replicas: int = 0, node_seconds: float = PATIENCE_SECONDS) -> None:
        self._stack = ExitStack()
        self.ports = [_reserve_port(self._stack) for _ in range(MASTERS * (1 + replicas))]
        options = {
            "bind": "127.0.0.1",
            "cluster-enabled": "yes",
            "cluster-node-timeout": str(int(node_seconds * 1000)),
            "repl-diskless-sync-delay": "0",
        }
        self.nodes = [RedisServer(options={"port": str(port), **options}) for port in self.ports]

    @property
    def masters(self) -> Sequence[RedisServer]:
        """The nodes that were masters at the start."""
        return self.nodes[:MASTERS]

    @property
    def url(self) -> str:
        """The address for ``REDIS_URL``."""
        return f"redis+cluster://127.0.0.1:{self.ports[0]}"

    def start(self) -> Self:
        """Start all nodes. Return when all of them know all slots and all replicas follow their masters."""
        for node in self.nodes:
            self._stack.enter_context(node)
        clients = self.clients = [self._stack.enter_context(node.plain_client()) for node in self.nodes]
        for number, one in enumerate(clients):
            if number < MASTERS:
                slots = range(number * SLOTS // MASTERS, (number + 1) * SLOTS // MASTERS)
                one.execute_command("CLUSTER ADDSLOTS", *slots)
            for port in self.ports:
                one.execute_command("CLUSTER MEET", "127.0.0.1", port)
        wait_until(lambda: all(map(self._is_whole, clients)), "all nodes know all slots")
        for number, replica in enumerate(clients[MASTERS:]):
            master = clients[number % MASTERS].execute_command("CLUSTER MYID")
            wait_until(lambda r=replica, m=master: _follow(r, m), "a replica knows its master")  # type: ignore[misc]
        wait_until(lambda: all(map(_is_synchronized, clients[MASTERS:])), "all replicas follow their masters")
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def flush(self) -> None:
        """Empty all masters."""
        for client in self.clients[:MASTERS]:
            client.flushall()

    def client(self) -> Redis:
        """Return an unrecorded client, which uses the site's prefix."""
        from mirror.cluster.client import ClusterClient
        from mirror.redis.clients import with_prefix
        from mirror.redis.keys import prefix  # imported late, because servers start before Django is set up
        from tests.support.unrecorded import UnrecordedPool

        return with_prefix(ClusterClient(connection_pool=UnrecordedPool.of(self.url)), prefix.current())

    def find_masters(self) -> list[int]:
        """Return the numbers of the present masters, in the order of their slots. All nodes must answer."""
        first_slots = {number: slots[0] for number, one in enumerate(self.clients) if (slots := _read_slots(one))}
        return sorted(first_slots, key=lambda number: first_slots[number])

    def list_slots(self, node: int) -> list[int]:
        """Return the slots of the node with this number."""
        return _read_slots(self.clients[node])

    def find_replica(self, master: int) -> int:
        """Return the number of a replica of this master. All nodes must answer."""
        infos: list[Any] = [one.info("replication") for one in self.clients]
        port = self.ports[master]
        return next(i for i, info in enumerate(infos) if info["role"] == "slave" and info["master_port"] == port)

    def is_settled(self) -> bool:
        """Return whether all nodes run and agree on the masters, and each master has its replicas. For faults."""
        try:
            if not all(map(self._is_whole, self.clients)) or len(self.find_masters()) != MASTERS:
                return False
            infos: list[Any] = [one.info("replication") for one in self.clients]
            views = {_read_view(one) for one in self.clients}
        except RedisError:
            return False
        followed = [info["master_port"] for info in infos if info["role"] == "slave" and _has_link(info)]
        return len(views) == 1 and len(followed) == len(self.nodes) - MASTERS and len({*followed}) == MASTERS

    @contextmanager
    def moving(self, slots: Sequence[int], of: int, to: int) -> Generator[None, None, None]:
        """Begin to move slots, each with one of its keys, between two nodes, and complete the move after the block."""
        names = {number: self.clients[number].execute_command("CLUSTER MYID").decode() for number in (of, to)}
        for slot in slots:
            self.clients[to].execute_command("CLUSTER SETSLOT", slot, "IMPORTING", names[of])
            self.clients[of].execute_command("CLUSTER SETSLOT", slot, "MIGRATING", names[to])
            self._migrate(slot, of, to, 1)
        yield
        for slot in slots:
            while self._migrate(slot, of, to, KEYS_AT_ONCE):
                pass
            for number in (to, of, *self.find_masters()):
                self.clients[number].execute_command("CLUSTER SETSLOT", slot, "NODE", names[to])

    def _migrate(self, slot: int, of: int, to: int, count: int) -> int:
        keys: Any = self.clients[of].execute_command("CLUSTER GETKEYSINSLOT", slot, count)
        for key in keys:
            self.clients[of].execute_command("MIGRATE", "127.0.0.1", self.ports[to], key, 0, 10_000)
        return len(keys)

    def _is_whole(self, node: Redis) -> bool:
        info: Any = node.execute_command("CLUSTER INFO")
        return (info["cluster_state"], info["cluster_known_nodes"]) == ("ok", str(len(self.nodes)))


def _reserve_port(stack: ExitStack) -> int:
    """Return a port with a free bus port, and keep the bus port reserved so that no connection gets it."""
    while True:
        bus = stack.enter_context(closing(socket.socket()))
        bus.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError, OverflowError):
            bus.bind(("127.0.0.1", (port := free_port()) + BUS))
            return port


def _follow(replica: Redis, master: Any) -> bool:
    with suppress(Exception):  # it may not know the master yet
        replica.execute_command("CLUSTER REPLICATE", master)
        return True
    return False


def _is_synchronized(replica: Redis) -> bool:
    return _has_link(replica.info("replication"))


def _has_link(info: Any) -> bool:
    return str(info.get("master_link_status")) == "up"


def _read_nodes(node: Redis) -> list[dict[str, Any]]:
    """Return the nodes that a node knows."""
    return [*node.execute_command("CLUSTER NODES").values()]


def _read_slots(node: Redis) -> list[int]:
    """Return a node's own slots."""
    own = next(line for line in _read_nodes(node) if "myself" in line["flags"])
    return [slot for part in own["slots"] for slot in range(int(part[0]), int(part[-1]) + 1)]


def _read_view(node: Redis) -> frozenset[tuple[str, str]]:
    """Return the masters that a node knows, with their slots."""
    return frozenset((line["node_id"], str(line["slots"])) for line in _read_nodes(node) if line["slots"])


def has_cluster() -> bool:
    """Return whether the tests run with their state on a cluster."""
    return os.environ.get(STATE) == "cluster"


@cache
def main_cluster() -> RedisCluster:
    """Return the cluster of this test process, starting it on first use."""
    made = RedisCluster().start()
    atexit.register(made._stack.close)
    return made


def open_state() -> Redis:
    """Return an unrecorded client of the state."""
    return main_cluster().client() if has_cluster() else main_server().client()
