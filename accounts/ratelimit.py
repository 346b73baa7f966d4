"""A rate limit, counted in Redis in one atomic step.

>>> if wait := count_event("password-reset", email, limit=3, seconds=3600): ...   # try again in `wait` seconds

While Redis is away each process counts on its own, so that a limit applies per process.
"""

import hashlib
import ipaddress
import math
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import HttpRequest

from accounts import keys
from mirror.redis import Script, try_redis
from mirror.utils import Bounded

_LUA: Final = Path(__file__).parent / "lua"
_count_script: Final = Script(_LUA / "count.lua")
_give_back_script: Final = Script(_LUA / "give_back.lua")
MAX_LOCAL_COUNTERS: Final = 10_000  # counters that a process keeps while Redis is away


def count_event(name: str, subject: object, limit: int, seconds: float) -> int:
    """Count one event ``name`` of ``subject``. Return 0, or the seconds to wait after ``limit`` events in ``seconds``.

    The period starts with the first event; refused events do not extend it. Never raises.
    """
    digest = _hash_subject(name, subject)
    return try_redis(
        lambda redis: math.ceil(
            int(_count_script(redis, [keys.limit(name, digest)], [limit, int(seconds * 1000)])) / 1000
        ),
        lambda: _local_counters.count_event(digest, limit, seconds),
        warning="",
    )


def count_at_rates(name: str, subject: object, rates: Iterable[tuple[int, int]]) -> int:
    """Count one event at each rate (number, seconds) up to one that is exceeded. Return 0, or the seconds to wait."""
    for limit, seconds in rates:
        wait = count_event(f"{name}-{seconds}", subject, limit, seconds)
        # The rates after the exceeded one are not counted, so a refused event does not fill them.
        if wait:
            return wait
    return 0


def give_back(name: str, subject: object) -> None:
    """Undo the last ``count_event``, for an event that turned out not to fall under the limit. Never raises."""
    digest = _hash_subject(name, subject)
    # Both, because Redis may have been away when the event was counted.
    _local_counters.give_back(digest)
    try_redis(lambda redis: _give_back_script(redis, [keys.limit(name, digest)]), lambda: None, warning="")


def give_back_at_rates(name: str, subject: object, rates: Iterable[tuple[int, int]]) -> None:
    """Undo the last count of ``count_at_rates``. Never raises."""
    for _limit, seconds in rates:
        give_back(f"{name}-{seconds}", subject)


def _hash_subject(name: str, subject: object) -> str:
    return hashlib.sha256(f"{name}\0{subject}".encode()).hexdigest()


def get_client_address(request: HttpRequest) -> str:
    """Return the client address that limits count: an IPv4 address, or the /64 network of an IPv6 address."""
    return normalize_address(find_client_address(request))


def find_client_address(request: HttpRequest) -> str:
    """Return the client address.

    Behind ``settings.PROXY_COUNT`` trusted proxies this is the address that the outermost of them recorded. Without
    proxies the ``X-Forwarded-For`` header is ignored, because clients can forge it.
    """
    given: str = request.META.get("REMOTE_ADDR", "")
    if count := settings.PROXY_COUNT:
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        # From the right: entries further left come from the client, who may write anything.
        if len(forwarded) >= count:
            given = forwarded[-count].strip()
    return given


def normalize_address(given: str) -> str:
    """Return the part of an address that limits count, or the first 64 characters of a text that is no address."""
    try:
        found = ipaddress.ip_address(given)
    except ValueError:
        return given[:64]
    if isinstance(found, ipaddress.IPv6Address):
        # A subscriber has a whole /64 network, and could use another address for each attempt.
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)


class LocalCounters:
    """Counters in the memory of this process. Above ``MAX_LOCAL_COUNTERS`` the oldest ones are dropped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By subject: the end of the period, as a monotonic time, and the events in it.
        self._counters = Bounded[str, tuple[float, int]](MAX_LOCAL_COUNTERS)

    def count_event(self, subject: str, limit: int, seconds: float) -> int:
        """Count one event of ``subject``. Return 0, or the seconds to wait, as ``count_event`` of this module does."""
        now = time.monotonic()
        with self._lock:
            end, earlier_events = self._counters.get(subject) or (0.0, 0)
            if end <= now:
                end = now + seconds
                earlier_events = 0
            self._counters.put(subject, (end, earlier_events + 1))
        if earlier_events < limit:
            return 0
        return math.ceil(end - now)

    def give_back(self, subject: str) -> None:
        """Subtract one from the counter of ``subject``, if it is above 0."""
        with self._lock:
            end, count = self._counters.get(subject) or (0.0, 0)
            if count:
                self._counters.put(subject, (end, count - 1))

    def clear(self) -> None:
        """Remove all counters."""
        self._counters.clear()


_local_counters = LocalCounters()
