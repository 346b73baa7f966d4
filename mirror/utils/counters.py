"""Signals of what happens: counts of the relay and of readers, and the time of each round trip to Redis."""

from collections.abc import Iterable
from typing import Final, Literal

from django.dispatch import Signal

# cold: the mirror is not complete in Redis. doubt: Redis may lack a change of the rows. own_write: the request has to
# see a write of its user. unavailable: Redis did not answer.
Reason = Literal["cold", "doubt", "own_write", "unavailable"]
counted: Final = Signal()  # sends name, value and labels
round_trip_ended: Final = Signal()  # sends seconds, from the commands to the last reply, or the first one of redis-py


def count(name: Literal["applied", "fallbacks", "replica_reads", "visits_dropped"], value: int, **labels: str) -> None:
    """Report that something happened ``value`` times. Errors of receivers are logged by Django."""
    if value:
        counted.send_robust(None, name=name, value=value, labels=labels)


def count_fallback(mirrors: Iterable[str], reason: Reason) -> None:
    """Report that SQL answers a read of these mirrors."""
    for mirror in mirrors:
        count("fallbacks", 1, mirror=mirror, reason=reason)
