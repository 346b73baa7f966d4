"""Real servers for tests: each is a child process with its own folder, and both are removed afterwards.

They are stopped at exit, and, on Linux, also when the test process is killed. Start servers in the main thread, because
the kernel ties a child to the thread that created it.

>>> with RedisServer(fsync="always") as server:
...     server.client().set("a", 1)
...     server.kill()           # SIGKILL
...     server.start()          # same data, same address
...     server.freeze()         # hangs until thaw()
"""

from tests.support.servers.postgres import PostgresPublisher, PostgresReplica, PostgresServer, find_postgres
from tests.support.servers.process import (
    PATIENCE_SECONDS,
    Server,
    die_with_parent,
    free_port,
    temporary_folder,
    wait_until,
)
from tests.support.servers.redis import RedisServer

__all__ = [
    "PATIENCE_SECONDS",
    "PostgresPublisher",
    "PostgresReplica",
    "PostgresServer",
    "RedisServer",
    "Server",
    "die_with_parent",
    "find_postgres",
    "free_port",
    "temporary_folder",
    "wait_until",
]
