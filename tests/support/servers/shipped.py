"""A Redis server with the files of ``deploy/redis``."""

import re
import signal
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.servers.process import PATIENCE_SECONDS, free_port, wait_until
from tests.support.servers.redis import RedisServer
from tools.devserver.redis_server import read_version

PASSWORD: Final = "a-password-of-tests"
USERS: Final = ("site", "cache", "broker")  # by database


class ShippedServer(RedisServer):
    """A server with a configuration and the access rights of ``deploy/redis``; it ends like that of an installation.

    It listens without TLS, which the oldest supported build lacks.

    name: of the configuration ("state"). default_user: replaces the shipped rights of the user "default".
    """

    stop_signal = signal.SIGTERM

    def __init__(self, name: str, *, default_user: str = "") -> None:
        super().__init__()
        self.port, files = free_port(), Path(settings.BASE_DIR) / "deploy" / "redis"
        users = (files / "users.acl.example").read_text().replace("PASSWORD", PASSWORD)
        if default_user:
            users = re.sub("^user default .*$", default_user, users, flags=re.MULTILINE)
        (self.folder / "users.acl").write_text(users)
        lines = (files / f"{name}.conf").read_text().splitlines()
        kept = [line for line in lines if not line.startswith(("tls-", "port "))]
        text = "\n".join([*kept, f"port {self.port}", "bind 127.0.0.1", ""])
        text = text.replace("/etc/diptych/users.acl", str(self.folder / "users.acl"))
        self.configuration = self.folder / "redis.conf"
        self.configuration.write_text(text.replace("dir /data", f"dir {self.data}"))

    def command(self) -> list[str]:
        return [str(self.binary), str(self.configuration)]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, database: int = 0) -> str:
        return f"redis://{USERS[database]}:{PASSWORD}@{self.address}/{database}"

    def broker_url(self) -> str:
        return self.url(2)

    def plain_client(self, database: int = 0, **options: Any) -> Redis:
        """Return a client with all rights."""
        url, hasty = f"redis://admin:{PASSWORD}@{self.address}/{database}", Retry(NoBackoff(), 1)
        return Redis.from_url(url, socket_timeout=PATIENCE_SECONDS, retry=hasty, **options)

    @property
    def drops_transactions(self) -> bool:
        """Whether this version checks the rights of "default" while it loads its file; 6.2 does not."""
        return read_version(self.binary) >= (7, 0)

    def rewrite_aof(self) -> None:
        """Write the data into a new base file, so that later commands alone are executed again at a restart."""
        with self.plain_client() as client:
            client.bgrewriteaof()
            wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"], "a rewritten file")

    def restart_cleanly(self) -> None:
        """Stop the server in an orderly way, and start it with its data."""
        self.stop()
        self.start()
