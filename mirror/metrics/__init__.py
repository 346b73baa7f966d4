"""Metrics: counts of this process as a signal, for any system; ``measure`` and ``prometheus`` have the rest.

>>> from django.dispatch import receiver
>>> @receiver(counted)
... def send_to_statsd(name, value, labels, **kwargs): ...

The name "applied" counts changes that this process applied (label: mirror). "fallbacks" counts reads that SQL had to
answer (labels: mirror and reason, see ``mirror.utils.counters``); a read of two mirrors counts for both.
"replica_reads" counts fallbacks that were asked of the read replica (label: outcome, "answered" or "failed").
"visits_dropped" counts visits that never reach SQL (labels: kind and reason: "unavailable", "full", "malformed" or
"refused"). A second signal, ``round_trip_ended``, sends the seconds of each round trip to Redis.
"""

from mirror.metrics.gauges import measure
from mirror.utils.counters import counted, round_trip_ended

__all__ = ["counted", "measure", "round_trip_ended"]
