"""Asking the provider: outside every SQL transaction, and for a bounded time.

A time-out of the provider's own library is not enough: names are looked up, and answers trickle in, outside it. So each
call has a thread of its own, which is left to itself when the time is over; only so many of them may be under way.
"""

import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from django.conf import settings
from django.db import connection, connections

from shop.payments import Answer, Card, NoAnswer, provider

logger = logging.getLogger("shop")
T = TypeVar("T")

MOST: Final = 64  # calls of one process that are under way, those that nobody waits for any more among them
_room: Final = threading.BoundedSemaphore(MOST)


def charge(key: str, amount: int, card: Card) -> Answer:
    """As the provider's. Raises NoAnswer, and then anything may have happened."""
    return _ask(lambda: provider().charge(key, amount, card))


def find(key: str) -> Answer | None:
    """As the provider's. Raises NoAnswer."""
    return _ask(lambda: provider().find(key))


def give_up(key: str) -> Answer:
    """As the provider's. Raises NoAnswer."""
    return _ask(lambda: provider().give_up(key))


def refund(key: str) -> None:
    """As the provider's. Raises NoAnswer."""
    return _ask(lambda: provider().refund(key))


def _ask(do: Callable[[], T]) -> T:
    if connection.in_atomic_block:
        raise RuntimeError("The provider is asked outside every transaction: it may take its time.")
    room = _room
    if not room.acquire(blocking=False):
        raise NoAnswer("too many calls wait for the provider")
    said: list[T] = []
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(_carry_out, do, said, room), daemon=True, name="payment")
    thread.start()
    thread.join(settings.PAYMENT_TIMEOUT_SECONDS)
    if not said:
        raise NoAnswer
    return said[0]


def _carry_out(do: Callable[[], T], said: list[T], room: threading.BoundedSemaphore) -> None:
    try:
        said.append(do())
    except Exception as error:  # whatever its network raises; the text could hold what was sent
        logger.warning("The payment provider did not answer: %s", type(error).__name__)
    finally:
        connections.close_all()
        room.release()  # which it took: there may be another by now
