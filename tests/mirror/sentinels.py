"""A Redis with a replica, supervised by three sentinels."""

from contextlib import ExitStack
from typing import Final, Self

from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.support.servers.process import Server, free_port, wait_until
from tests.support.servers.redis import RedisServer, chosen_redis

SERVICE: Final = "bookshop"
QUORUM: Final = 2
DOWN_MILLISECONDS: Final = 1000  # silence after which a sentinel considers the master down


class Sentinel(Server):
    """A sentinel of the service whose master listens on ``master``."""

    def __init__(self, master: int) -> None:
        super().__init__()
        self.port = free_port()
        self.file = self.folder / "sentinel.conf"
        lines = [
            f"port {self.port}",
            "bind 127.0.0.1",
            f"dir {self.folder}",
            f"sentinel monitor {SERVICE} 127.0.0.1 {master} {QUORUM}",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_MILLISECONDS}",
            f"sentinel failover-timeout {SERVICE} 10000",
        ]
        self.file.write_text("\n".join(lines) + "\n")

    def command(self) -> list[str]:
        return [str(chosen_redis()), str(self.file), "--sentinel"]

    def is_ready(self) -> bool:
        with Redis(port=self.port) as client:
            try:
                return bool(client.ping())
            except RedisConnectionError:
                return False

    def find_master(self) -> int:
        """Return the port of the present master."""
        with Redis(port=self.port, decode_responses=True) as client:
            return int(client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)[1])

    def knows_all(self) -> bool:
        """Return whether the sentinel knows the replica, which has a copy, and the other two sentinels."""
        with Redis(port=self.port, decode_responses=True) as client:
            [replica] = client.sentinel_slaves(SERVICE) or [{}]
            others = client.sentinel_sentinels(SERVICE)
        return replica.get("master-link-status") == "ok" and len(others) == QUORUM


class SupervisedRedis:
    """The two servers and the sentinels. Begin with the master ``servers[0]``."""

    def __init__(self) -> None:
        self.ports = [free_port(), free_port()]
        own = {"bind": "127.0.0.1", "repl-diskless-sync-delay": "0"}
        self.servers = [RedisServer(options={"port": str(port), **own}) for port in self.ports]
        self.sentinels = [Sentinel(self.ports[0]) for _ in range(QUORUM + 1)]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for server in self.servers:
            self._stack.enter_context(server)
        with self.servers[1].plain_client() as replica:
            replica.replicaof("127.0.0.1", self.ports[0])  # Redis 6.2 does not take it on the command line
        for sentinel in self.sentinels:
            self._stack.enter_context(sentinel)
        wait_until(lambda: all(each.knows_all() for each in self.sentinels), "the sentinels know one another")
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
