"""Metrics: counts of this process as a signal, for any system; ``measure`` and ``prometheus`` have the rest.

>>> from django.dispatch import receiver
>>> @receiver(counted)
... def send_to_statsd(name, value, labels, **kwargs): ...

The name "applied" counts changes that this process applied (label: mirror). "fallbacks" counts reads that SQL had to
answer (labels: mirror and reason, see ``Reason``); a read of two mirrors counts for both. "replica_reads" counts
fallbacks that were asked of the read replica (label: outcome, "answered" or "failed"). "visits_dropped" counts visits
that never reach SQL (labels: kind and reason: "unavailable", "full", "malformed" or "refused"). A second signal,
``round_trip_ended``, sends the seconds of each round trip to Redis.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal

from django.dispatch import Signal

from mirror.utils.exports import export_lazily

if TYPE_CHECKING:
    from mirror.metrics.gauges import measure

__all__ = ["counted", "measure", "round_trip_ended"]

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


__getattr__ = export_lazily(__name__, {"measure": "mirror.metrics.gauges"})
