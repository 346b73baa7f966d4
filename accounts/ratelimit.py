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

from django.conf import settings
from django.http import HttpRequest

from accounts import keys
from mirror.redis import RedisError, breaker, client, is_away
from mirror.scripts import Script

_LUA: Final = Path(__file__).parent / "lua"
_count: Final = Script(_LUA / "count.lua")
_give_back: Final = Script(_LUA / "give_back.lua")
MOST_SUBJECTS: Final = 10_000  # that a process without Redis keeps in mind


def allow(name: str, subject: object, limit: int, seconds: float) -> int:
    """Count one ``name`` of ``subject``; 0 when there were at most ``limit`` in ``seconds``, else seconds to wait.

    The time begins with the first one; those that are refused do not make it longer. Never raises.
    """
    digest = _digest(name, subject)
    if not breaker.open():
        try:
            wait = _count(client(), [keys.limit(name, digest)], [limit, int(seconds * 1000)])
            return math.ceil(int(wait) / 1000)
        except RedisError as error:
            if is_away(error):
                breaker.failed()
    return _local.allow(digest, limit, seconds)


def give_back(name: str, subject: object) -> None:
    """Take back what ``allow`` counted just now: it turned out not to be what is limited. Never raises."""
    digest = _digest(name, subject)
    _local.give_back(digest)
    if not breaker.open():
        try:
            _give_back(client(), [keys.limit(name, digest)])
        except RedisError as error:
            if is_away(error):
                breaker.failed()


def _digest(name: str, subject: object) -> str:
    return hashlib.sha256(f"{name}\0{subject}".encode()).hexdigest()


def address(request: HttpRequest) -> str:
    """Where a request comes from, as limits count it: an IPv4 address, or the /64 that one household has of IPv6.

    Behind proxies of ours (``settings.PROXY_COUNT``) it is what the outermost of them wrote down; otherwise anybody
    could write what they like into that header, and it is not looked at.
    """
    given = request.META.get("REMOTE_ADDR", "")
    if count := settings.PROXY_COUNT:
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(forwarded) >= count:
            given = forwarded[-count].strip()
    return address_part(given)


def address_part(given: str) -> str:
    """That part of an address that is counted together; what is no address stays as it is."""
    try:
        found = ipaddress.ip_address(given)
    except ValueError:
        return given[:64]
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

    def give_back(self, subject: str) -> None:
        """One less, if there is any."""
        with self._lock:
            until, count = self._found.get(subject, (0.0, 0))
            if count:
                self._found[subject] = (until, count - 1)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._found.clear()


_local = LocalCounters()
