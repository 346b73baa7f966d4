"""Inject crashes and pauses between any two steps.

The commands that the code under test sends to Redis and SQL are counted. At one of them the process dies, or stands
still while other code runs.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.db import connection
from redis.connection import AbstractConnection

from tests.support.killed import Killed


class _Points:
    """Count down to a point and run ``happens`` there, once."""

    def __init__(self, number: int, happens: Callable[[], None]) -> None:
        self.left, self.happens = number, happens
        self.happened = False

    def pass_one(self, close: Callable[[], Any] | None = None) -> None:
        self.left -= 1
        if self.left < 0 and not self.happened:
            self.happened = True
            try:
                self.happens()
            except Killed:
                if close is not None:
                    close()
                raise


@contextmanager
def at_point(number: int, happens: Callable[[], None], *, in_transactions: bool) -> Generator[None, None, None]:
    """Call ``happens`` at the (``number`` + 1)th point of the block.

    Points lie before each command that is sent to Redis or SQL, and, for Redis, also after the server has executed the
    command and before its answer is read.

    in_transactions: also count points inside SQL transactions, where only a crash leaves a valid state.
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
