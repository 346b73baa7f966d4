"""A Redis Cluster with replicas for the state of the site, and the faults that can happen to its masters."""

from collections.abc import Iterator
from itertools import count

from redis.exceptions import RedisError

from mirror.redis import naming
from mirror.redis.keys.slots import find_slot
from tests.support.servers import wait_until
from tests.support.servers.cluster import MASTERS, RedisCluster

NODE_SECONDS = 1.5  # of silence; then the replica of a master takes over
SLOTS_MOVED = 50  # with keys, by one fault
KINDS = ("kill", "kill two", "restart", "stop", "empty", "fill", "fail over", "move slots")


class StateCluster(RedisCluster):
    """Three masters with a replica each. Each fault happens to the next of them."""

    def __init__(self) -> None:
        super().__init__(replicas=1, node_seconds=NODE_SECONDS)
        self._turns = count()

    def close(self) -> None:
        """Stop all nodes."""
        self._stack.close()

    def fail(self, kind: str) -> Iterator[None]:
        """Let a fault happen until the iterator is continued. It ends when each master has a replica again."""
        masters = self.find_masters()
        turn = next(self._turns)
        one, two = (masters[(turn + more) % MASTERS] for more in (0, 1))
        match kind:
            case "kill":
                replica = self.find_replica(one)
                self.nodes[one].kill()
                yield
                wait_until(lambda: self._is_master(replica), "the takeover by a replica")
                self.nodes[one].start()
            case "kill two":  # the third one cannot elect
                for node in (one, two):
                    self.nodes[node].kill()
                yield
                for node in (one, two):
                    self.nodes[node].start()
            case "restart":
                self.nodes[one].kill()
                self.nodes[one].start()
                yield
            case "stop":
                self.nodes[one].freeze()
                yield
                self.nodes[one].thaw()
            case "empty":
                self.clients[one].flushall()
                yield
            case "fill":
                self.clients[one].config_set("maxmemory", 1)
                yield
                self.clients[one].config_set("maxmemory", 0)
            case "fail over":
                replica = self.find_replica(one)
                self.clients[replica].execute_command("CLUSTER FAILOVER")
                yield
                wait_until(lambda: self._is_master(replica), "the failover")
            case "move slots":
                with self.moving(self._choose_slots(one), one, two):
                    yield
        wait_until(self.is_settled, "a cluster with all masters and replicas")

    def _is_master(self, node: int) -> bool:
        try:
            return bool(self.clients[node].info("replication")["role"] == "master")
        except RedisError:
            return False

    def _choose_slots(self, master: int) -> list[int]:
        """Return slots with keys of a master, and that of the markers if it has it."""
        pipe = self.clients[master].pipeline(transaction=False)
        own = self.list_slots(master)
        for slot in own:
            pipe.execute_command("CLUSTER COUNTKEYSINSLOT", slot)
        used = [slot for slot, keys in zip(own, pipe.execute(), strict=True) if keys]
        markers = find_slot(naming.heartbeat())
        return [*dict.fromkeys([markers] * (markers in used) + used[:SLOTS_MOVED])]
