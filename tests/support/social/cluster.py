"""Start a Redis Cluster of three masters, and send it the recorded commands of a single server."""

import socket
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any, Final

from redis import Redis
from redis.cluster import ClusterNode, RedisCluster

from mirror.redis.recorder import Command
from mirror.redis.scripts import Script
from tests.support.servers import PATIENCE_SECONDS, RedisServer, free_port, wait_until
from tests.support.social import slots

MASTERS: Final = 3
SLOTS: Final = 16384
BUS: Final = 10_000  # the distance from a node's client port to its bus port
# A transaction and its fence, which the cluster test leaves out because a cluster cannot provide them.
FENCE: Final = {"MULTI", "EXEC", "WATCH", "UNWATCH"}


@contextmanager
def cluster() -> Generator[RedisCluster, None, None]:
    """Yield a client of three masters that share the slots, once all masters know all slots."""
    with ExitStack() as stack:
        ports = [_port(stack) for _ in range(MASTERS)]
        servers = [stack.enter_context(RedisServer(options=_options(port))) for port in ports]
        clients = [stack.enter_context(server.client()) for server in servers]
        for number, one in enumerate(clients):
            one.execute_command("CLUSTER ADDSLOTS", *range(number * SLOTS // MASTERS, (number + 1) * SLOTS // MASTERS))
            for port in ports:
                one.execute_command("CLUSTER MEET", "127.0.0.1", port)
        wait_until(lambda: all(map(_is_whole, clients)), "all masters know of all slots")
        nodes = [ClusterNode("127.0.0.1", port) for port in ports]
        yield stack.enter_context(RedisCluster(startup_nodes=nodes, socket_timeout=PATIENCE_SECONDS))


def _port(stack: ExitStack) -> int:
    """Return a port with a free bus port, and keep the bus port reserved so that no connection gets it."""
    while True:
        bus = stack.enter_context(closing(socket.socket()))
        bus.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError, OverflowError):
            bus.bind(("127.0.0.1", (port := free_port()) + BUS))
            return port


def _options(port: int) -> dict[str, str]:
    # A long timeout, so that a node that is merely slow is not considered failed.
    patience = str(int(PATIENCE_SECONDS * 1000))
    return {"port": str(port), "bind": "127.0.0.1", "cluster-enabled": "yes", "cluster-node-timeout": patience}


def _is_whole(node: Redis) -> bool:
    said = node.execute_command("CLUSTER INFO")
    return (said["cluster_state"], said["cluster_known_nodes"]) == ("ok", str(MASTERS))


def send_again(client: RedisCluster, commands: Sequence[Command], script: Script) -> list[Any]:
    """Send these commands to the nodes of their slots, leaving out those in ``FENCE``. Return the replies.

    Raises the errors of redis-py, such as CROSSSLOT for a command with keys in several slots.
    """
    for node in client.get_primaries():
        node.redis_connection.script_load(script.text)
    return [_send(client, command) for command in commands if command.name not in FENCE]


def _send(client: RedisCluster, command: Command) -> Any:
    node = client.get_node_from_key(slots.units(command)[0][0])
    if command.name in slots.IN_PARTS:
        return [client.execute_command(command.name, *unit) for unit in slots.units(command)]
    # Sent to this node directly: a cluster client would follow the redirection of MOVED.
    return node.redis_connection.execute_command(command.name, *command.args)
