"""The embedded Redis: a real server, private to this folder, with its data under ``var/redis``."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from tools.devserver.redis_server import build_command, find_redis

KEEPER_PATH = Path(__file__).with_name("keep.py")
START_SECONDS = 60.0  # a large append-only file takes a while to load


class EmbeddedRedis:
    """A server on the socket of ``url`` (in the form of the settings), with its files in ``data``.

    It is restarted whenever it ends by itself. lock: a file descriptor that the server keeps open while it runs.
    """

    def __init__(self, url: str, data: Path, lock: int) -> None:
        self.socket = Path(url.removeprefix("unix://").partition("?")[0])
        self.data = data
        self.lock = lock
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and return when it answers. Raises RedisNotFound or RuntimeError."""
        for folder in (self.data, self.socket.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Another user could replace the socket, and answer in the place of Redis.
            if folder.stat().st_uid != os.geteuid():
                raise RuntimeError(f"{folder} belongs to another user")
            folder.chmod(0o700)
        log = self.data / "redis.log"
        redis = build_command(find_redis(), self.data, self.socket, logfile=str(log))
        self.process = subprocess.Popen(
            [sys.executable, str(KEEPER_PATH), str(os.getpid()), *redis],
            stdin=subprocess.DEVNULL,
            # The lock of the folder stays held until Redis has ended, also if the runner is killed.
            pass_fds=[self.lock],
            start_new_session=True,
        )
        end = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the embedded Redis does not start: see {log}")
            time.sleep(0.02)

    def answers(self) -> bool:
        """Return whether a server answers on the socket with its data loaded."""
        try:
            with Redis(unix_socket_path=str(self.socket), retry=Retry(NoBackoff(), 0)) as client:
                return bool(client.ping())
        except (RedisError, OSError):
            return False

    def stop(self) -> None:
        """Stop the server in order, so that its file is complete."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
            self.process = None
