"""Send the recorded commands of a single server to a Redis Cluster."""

from collections.abc import Sequence
from typing import Any, Final

from redis.cluster import RedisCluster

from mirror.redis.recorder import Command
from mirror.redis.scripts import Script
from tests.support import slots

# A transaction and its fence, which the cluster test leaves out because a cluster cannot provide them.
FENCE: Final = {"MULTI", "EXEC", "WATCH", "UNWATCH"}


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
