"""Accidents between any two steps: what the code under test says to Redis and to SQL is counted, and at one of these
points the process dies, or stands still while others go on.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.db import connection
from redis.connection import AbstractConnection


class Crash(BaseException):
    """The process is gone: nothing that catches errors may catch this."""


class _Points:
    """Counts down to the point at which something happens, once."""

    def __init__(self, number: int, happens: Callable[[], None]) -> None:
        self.left, self.happens = number, happens
        self.happened = False

    def pass_one(self, close: Callable[[], Any] | None = None) -> None:
        self.left -= 1
        if self.left < 0 and not self.happened:
            self.happened = True
            try:
                self.happens()
            except Crash:
                if close is not None:
                    close()
                raise


@contextmanager
def at_point(number: int, happens: Callable[[], None], *, in_transactions: bool) -> Generator[None, None, None]:
    """``happens`` is called before the block sends something to Redis or SQL for the (``number`` + 1)th time, or, every
    other time, when Redis has done what it was sent and before its answer is read.

    in_transactions: also inside transactions of SQL (where only a crash can be survived).
    """
    points = _Points(number, happens)
    send = AbstractConnection.send_packed_command

    def sending(self: Any, command: Any, *args: Any, **kwargs: Any) -> None:
        if points.happened or (connection.in_atomic_block and not in_transactions):
            send(self, command, *args, **kwargs)
            return
        points.pass_one(self.disconnect)
        send(self, command, *args, **kwargs)
        if not points.happened:
            self.can_read(timeout=5)
            points.pass_one(self.disconnect)

    def asking(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if in_transactions or not connection.in_atomic_block:
            points.pass_one()
        return execute(sql, params, many, context)

    with (
        mock.patch.object(AbstractConnection, "send_packed_command", sending),
        connection.execute_wrapper(asking),
    ):
        yield
