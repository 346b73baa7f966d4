"""The metrics for Prometheus (the extra ``prometheus``). Import it when Django starts, for example in ``ready``.

The counters and the histogram are those of the process, or of all processes in prometheus_client's multi-process
mode. The gauges are read from SQL and Redis whenever the metrics are requested, so any one process can serve them.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Final

from django.db import Error as DatabaseError
from django.dispatch import receiver
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from mirror.metrics.gauges import TEXTS, measure
from mirror.utils.counters import counted, round_trip_ended

__all__ = ["get_registry"]
COUNTERS: Final = {
    "applied": Counter("mirror_applied", "Changes applied to Redis.", ["mirror"]),
    "fallbacks": Counter("mirror_fallbacks", "Reads that SQL answered.", ["mirror", "reason"]),
    "replica_reads": Counter("mirror_replica_reads", "Fallbacks asked of the read replica.", ["outcome"]),
    "visits_dropped": Counter("mirror_visits_dropped", "Visits that never reach SQL.", ["kind", "reason"]),
}
ROUND_TRIPS: Final = Histogram(
    "mirror_redis_seconds",
    "Round trips to Redis that were answered.",
    buckets=(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.3, 1.0),
)


@receiver(counted, dispatch_uid="mirror.metrics.prometheus")
def _count_event(*, name: str, value: int, labels: Mapping[str, str], **kwargs: object) -> None:
    COUNTERS[name].labels(**labels).inc(value)


@receiver(round_trip_ended, dispatch_uid="mirror.metrics.prometheus")
def _observe_round_trip(*, seconds: float, **kwargs: object) -> None:
    ROUND_TRIPS.observe(seconds)


class MirrorCollector(Collector):
    """The gauges. While SQL is away, ``mirror_up`` is 0 and the others are missing."""

    def describe(self) -> list[GaugeMetricFamily]:
        """Return nothing, so that registration asks neither SQL nor Redis."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges as Prometheus' families."""
        families: dict[str, GaugeMetricFamily] = {}
        try:
            for name, labels, value in measure():
                if name not in families:
                    families[name] = GaugeMetricFamily(name, TEXTS[name], labels=list(labels))
                families[name].add_metric(list(labels.values()), value)
            is_up = 1.0
        except DatabaseError:
            families, is_up = {}, 0.0
        yield GaugeMetricFamily("mirror_up", "Whether SQL told the state of the mirrors.", value=is_up)
        yield from families.values()


def get_registry() -> CollectorRegistry:
    """Return the registry to serve: of this process, or of all in multi-process mode, each with the gauges."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        registry.register(MirrorCollector())
        return registry
    return REGISTRY


if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    REGISTRY.register(MirrorCollector())
