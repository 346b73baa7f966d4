"""How often something may be done, counted in Redis in one atomic step.

>>> if wait := allow("password-reset", email, limit=3, seconds=3600): ...   # try again in `wait` seconds

Without Redis each process counts by itself: a limit then holds for each of them, not for all together.
"""

import hashlib
import ipaddress
import math
import threading
import time
from pathlib import Path
from typing import Final

from django.http import HttpRequest

from accounts import keys
from mirror.redis import RedisError, breaker, client, is_away
from mirror.scripts import Script

_count: Final = Script(Path(__file__).parent / "lua" / "count.lua")
MOST_SUBJECTS: Final = 10_000  # that a process without Redis keeps in mind


def allow(name: str, subject: object, limit: int, seconds: float) -> int:
    """Count one ``name`` of ``subject``; 0 when there were at most ``limit`` in ``seconds``, else seconds to wait.

    The time begins with the first one; those that are refused do not make it longer. Never raises.
    """
    digest = hashlib.sha256(f"{name}\0{subject}".encode()).hexdigest()
    if not breaker.open():
        try:
            wait = _count(client(), [keys.limit(name, digest)], [limit, int(seconds * 1000)])
            return math.ceil(int(wait) / 1000)
        except RedisError as error:
            if is_away(error):
                breaker.failed()
    return _local.allow(digest, limit, seconds)


def address(request: HttpRequest) -> str:
    """Where a request comes from, as limits count it: an IPv4 address, or the /64 that one household has of IPv6."""
    given = request.META.get("REMOTE_ADDR", "")
    try:
        found = ipaddress.ip_address(given)
    except ValueError:
        return given
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)


class LocalCounters:
    """The same, in this process alone. When it has too much to keep in mind, it forgets what began first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, tuple[float, int]] = {}  # subject -> until when, how many

    def allow(self, subject: str, limit: int, seconds: float) -> int:
        """As ``allow`` above."""
        now = time.monotonic()
        with self._lock:
            until, count = self._found.get(subject, (0.0, 0))
            if until <= now:
                self._found.pop(subject, None)
                until, count = now + seconds, 0
            while len(self._found) >= MOST_SUBJECTS and subject not in self._found:
                del self._found[next(iter(self._found))]
            self._found[subject] = (until, count + 1)
        return 0 if count < limit else math.ceil(until - now)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._found.clear()


_local = LocalCounters()
