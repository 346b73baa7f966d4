"""Real servers for tests: each a child process of its own, in a folder of its own, gone afterwards.

They are stopped at exit, and, on Linux, also when the test process is killed. A server has to be
started by the main thread: the kernel ties a child to the thread that made it.

>>> with RedisServer(fsync="always") as server:
...     server.client().set("a", 1)
...     server.kill()           # SIGKILL
...     server.start()          # same data, same address
...     server.freeze()         # hung; thaw() lets it go on
"""

from tests.support.servers.postgres import PostgresServer, find_postgres
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
    "PostgresServer",
    "RedisServer",
    "Server",
    "die_with_parent",
    "find_postgres",
    "free_port",
    "temporary_folder",
    "wait_until",
]
