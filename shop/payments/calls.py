"""Call the provider outside of SQL transactions and with a time limit.

The time-out of a provider's library is not enough, because it covers neither name resolution nor slow responses. So
each call has its own thread, which is abandoned when its time is over. The number of such threads is limited.
"""

import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from django.conf import settings
from django.db import connection, connections

from mirror.utils import FailureLog
from shop.payments import Answer, Means, NoAnswer, get_provider

failures: Final = FailureLog(logging.getLogger("shop"))
T = TypeVar("T")

MAX_RUNNING_CALLS: Final = 64  # running calls of one process, including abandoned ones
_free_calls: Final = threading.BoundedSemaphore(MAX_RUNNING_CALLS)


def charge(key: str, amount: int, means: Means) -> Answer:
    """Charge a card, or open the provider's page. Raises NoAnswer if the outcome is unknown."""
    return _call_provider(lambda: get_provider().charge(key, amount, means))


def find_charge(key: str) -> Answer | None:
    """Find a charge. Raises NoAnswer."""
    return _call_provider(lambda: get_provider().find(key))


def forbid_charge(key: str) -> Answer:
    """Forbid a charge. Raises NoAnswer."""
    return _call_provider(lambda: get_provider().give_up(key))


def refund(key: str, refund_key: str, amount: int) -> None:
    """Refund part of a charge, once per key of the refund. Raises NoAnswer."""
    return _call_provider(lambda: get_provider().refund(key, refund_key, amount))


def _call_provider(do: Callable[[], T]) -> T:
    if connection.in_atomic_block:
        raise RuntimeError("The provider must be called outside transactions, because it may be slow.")
    room = _free_calls
    # Not waiting for room: the threads that hold it may hang for minutes.
    if not room.acquire(blocking=False):
        raise NoAnswer("too many calls wait for the provider")
    answers: list[T] = []
    # The thread gets the context of the caller, such as the request id of its log lines.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(_run_call, do, answers, room), daemon=True, name="payment")
    thread.start()
    thread.join(settings.PAYMENT_TIMEOUT_SECONDS)
    if not answers:
        raise NoAnswer
    return answers[0]


def _run_call(do: Callable[[], T], answers: list[T], room: threading.BoundedSemaphore) -> None:
    try:
        answers.append(do())
    # Any network error. Its text could contain the card number, so only its type is logged.
    except Exception as error:
        text = "The payment provider did not answer: %s"
        failures.add("provider", text, type(error).__name__, level=logging.WARNING)
    else:
        failures.end("provider", "The payment provider answers again")
    finally:
        # The thread has connections of its own, which no request would close.
        connections.close_all()
        # The semaphore that this call acquired: a test may have replaced _free_calls since.
        room.release()
