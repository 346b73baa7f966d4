"""Clients in this process wait for a Redis that is well as long as it takes, and for a hung one as long as the site.

A machine that has much to do may keep a healthy server from answering for longer than a request waits for it; then the
site reads SQL, which is as it should be, and not what the tests at hand are about.
"""

from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

from redis.connection import UnixDomainSocketConnection

from config import people_first
from mirror import redis, send
from mirror.local import LocalCopy
from tests.support.servers import RedisServer

SECONDS = 60.0
_hung: set[str] = set()
_connections: "WeakSet[PatientConnection]" = WeakSet()
_adding = Lock()  # others connect while one goes through them
_haste = dict(send.HASTE)


class PatientConnection(redis.LearningUnixConnection):
    """A connection of the site's pools."""

    _socket_timeout: float | None
    _socket_connect_timeout: float | None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with _adding:
            _connections.add(self)

    @property
    def socket_timeout(self) -> float | None:
        return self._patience(self._socket_timeout)

    @socket_timeout.setter
    def socket_timeout(self, value: float | None) -> None:
        self._socket_timeout = value

    @property
    def socket_connect_timeout(self) -> float | None:
        return self._patience(self._socket_connect_timeout)

    @socket_connect_timeout.setter
    def socket_connect_timeout(self, value: float | None) -> None:
        self._socket_connect_timeout = value

    def _patience(self, seconds: float | None) -> float | None:
        return seconds if seconds is None or self.path in _hung else max(seconds, SECONDS)

    def look_at_the_clock(self) -> None:
        """Have what is connected already wait as long as it should now."""
        socket: Any = self._sock
        if socket is not None:
            with suppress(OSError):  # its thread is closing it just now: the next one will wait as it should
                socket.settimeout(self.socket_timeout)


def install() -> None:
    """Have the site's pools make such connections. Before any is made."""
    redis._LEARNING[UnixDomainSocketConnection] = PatientConnection
    people_first.GIVE_UP_SECONDS = SECONDS  # type: ignore[misc]
    LocalCopy.ensure_loaded.__defaults__ = (SECONDS,)
    RedisServer.watchers.append(_note)
    _note(Path(), is_hung=False)


def _note(socket: Path, is_hung: bool) -> None:
    (_hung.add if is_hung else _hung.discard)(str(socket))
    with _adding:
        connected = list(_connections)
    for connection in connected:
        connection.look_at_the_clock()
    for name in ("socket_timeout", "socket_connect_timeout"):
        send.HASTE[name] = _haste[name] if _hung else SECONDS
