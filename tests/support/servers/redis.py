"""A private Redis server."""

import os
import shutil
import signal
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from tests.support.servers.process import PATIENCE_SECONDS, Server
from tools.devserver.redis_server import build_command, find_redis, find_wheel_redis


def chosen_redis() -> Path:
    """Return the server that ``make demo`` uses, or with ``DIPTYCH_TESTS_REDIS=wheel`` the oldest supported one."""
    wheel = find_wheel_redis() if os.environ.get("DIPTYCH_TESTS_REDIS") == "wheel" else None
    return wheel or find_redis()


class RedisServer(Server):
    """A Redis configured as the site needs it: private Unix socket, append-only file, no eviction.

    fsync: ``appendfsync``; acknowledged writes survive the end of the process with any value.
    binary: the server to run instead of the one that ``make demo`` uses.
    options: further configuration directives by name.
    on_hang: called with the server and True before it freezes, and with the server and False after it thaws.
    """

    stop_signal = signal.SIGKILL  # its data is in the append-only file, or is discarded

    def __init__(
        self,
        *,
        fsync: str = "no",
        binary: Path | None = None,
        options: dict[str, str] | None = None,
        on_hang: Callable[["RedisServer", bool], None] | None = None,
    ) -> None:
        super().__init__()
        self.on_hang, self.is_frozen = on_hang, False
        self.binary = binary or chosen_redis()
        self.data = self.folder / "data"
        self.data.mkdir()
        self.socket = self.folder / "redis.sock"
        # The file is never rewritten, so that each copy of it is a former state of the server.
        self.options = {"appendfsync": fsync, "auto-aof-rewrite-percentage": "0", **(options or {})}

    def command(self) -> list[str]:
        return build_command(self.binary, self.data, self.socket, **self.options)

    def is_ready(self) -> bool:
        try:
            with self.plain_client() as client:
                return bool(client.ping())
        except (RedisConnectionError, BusyLoadingError):
            return False

    def url(self, database: int = 0) -> str:
        """Return the URL of one of its databases (0: state, 1: cache, 2: broker)."""
        return f"unix://{self.socket}?db={database}"

    @property
    def address(self) -> str:
        """The part of its URLs that no other server has."""
        return str(self.socket)

    def broker_url(self) -> str:
        """Return the URL of the broker's database in the spelling of kombu."""
        return f"redis+socket://{self.socket}?virtual_host=2"

    def environment(self) -> dict[str, str]:
        """Return the environment variables that connect the site to this server."""
        return {
            "REDIS_URL": self.url(0),
            "CACHE_URL": self.url(1),
            "CELERY_BROKER_URL": self.url(2),
        }

    def client(self, database: int = 0) -> Redis:
        """Return an unrecorded client with replies in bytes; a client of the state uses the site's prefix."""
        from mirror.redis.keys import prefix  # imported late, because servers start before Django is set up

        text = prefix.current() if database == 0 else ""
        packer = prefix.Packer(text) if text else None
        client = self.plain_client(database, command_packer=packer)
        return prefix.strip_replies(client, packer) if packer else client

    def plain_client(self, database: int = 0, **options: Any) -> Redis:
        """Return a client without the site's prefix."""
        hasty = Retry(NoBackoff(), 1)
        return Redis.from_url(self.url(database), socket_timeout=PATIENCE_SECONDS, retry=hasty, **options)

    @cached_property
    def _own(self) -> Redis:
        return self.plain_client()

    def flush(self) -> None:
        """Empty all databases."""
        self._own.flushall()

    def freeze(self) -> None:
        if self.on_hang is not None:
            self.on_hang(self, True)
        self.is_frozen = True
        super().freeze()

    def thaw(self) -> None:
        super().thaw()
        if self.is_frozen and self.on_hang is not None:
            self.on_hang(self, False)
        self.is_frozen = False

    def close(self) -> None:
        if "_own" in self.__dict__:
            self._own.close()
        super().close()

    def copy_aof(self, to: Path) -> None:
        """Copy the append-only files, up to the last acknowledged write, to a new folder."""
        if self.process is not None:
            with self.plain_client() as client:
                # A slow disk can delay a write; with "always" every acknowledged write is in the file.
                client.config_set("appendfsync", "always")
                client.ping()
                client.config_set("appendfsync", self.options["appendfsync"])
        shutil.copytree(self.data, to)

    def restore_aof(self, frm: Path) -> None:
        """Kill the server and replace the append-only files by an older copy.

        ``start()`` then starts a server with the older data.
        """
        self.kill()
        shutil.rmtree(self.data)
        shutil.copytree(frm, self.data)


@cache
def main_server() -> RedisServer:
    """Return the server of this test process, starting it on first use."""
    return RedisServer().start()
