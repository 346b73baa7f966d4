"""Servers that refuse writes, because their memory or their disk is full."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.servers import RedisServer, wait_until


@contextmanager
def full_memory(server: RedisServer) -> Iterator[None]:
    with server.client() as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)


@contextmanager
def full_disk(server: RedisServer) -> Iterator[None]:
    """Let Redis fail to save: a directory has the name of the snapshot."""
    with server.client() as client:
        (server.data / client.config_get("dbfilename")["dbfilename"]).mkdir()
        client.config_set("save", "3600 1")
        client.bgsave()
        wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "a failed save")
        yield
        client.config_set("save", "")
