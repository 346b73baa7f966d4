"""Gauges of the Redis servers and of Celery's queues, read whenever the metrics are requested."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import kombu.pools
from django.conf import settings
from django_redis import get_redis_connection
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from mirror.conf import setting
from mirror.redis import try_redis
from mirror.relay import send

SECTION: Final = "memory"  # of INFO


class Answer(NamedTuple):
    """The answer of one server. memory: a section of INFO, or None while the server is away. queues: their lengths."""

    memory: Mapping[str, Any] | None
    queues: Mapping[str, int] = {}


class SiteCollector(Collector):
    """The gauges. For a server that is away, ``diptych_redis_up`` is 0, and the others are missing."""

    def describe(self) -> list[GaugeMetricFamily]:
        """Return nothing, so that registration asks no server."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges. One round trip for each server."""
        up = GaugeMetricFamily("diptych_redis_up", "Whether this Redis server answers.", labels=["server"])
        used = GaugeMetricFamily("diptych_redis_memory_bytes", "Memory that Redis uses.", labels=["server"])
        most = GaugeMetricFamily("diptych_redis_max_memory_bytes", "Its limit; 0: none.", labels=["server"])
        queues = GaugeMetricFamily("diptych_queue_length", "Tasks that wait for a worker.", labels=["queue"])
        for server, ask in {"state": _ask_state, "cache": _ask_cache, "broker": _ask_broker}.items():
            memory, lengths = ask()
            up.add_metric([server], memory is not None)
            if memory is not None:
                used.add_metric([server], memory["used_memory"])
                most.add_metric([server], memory["maxmemory"])
            for queue, length in lengths.items():
                queues.add_metric([queue], length)
        yield from (up, used, most, queues)


def list_queues() -> list[str]:
    """Return the names of Celery's queues."""
    return sorted({settings.CELERY_TASK_DEFAULT_QUEUE, *(r["queue"] for r in settings.CELERY_TASK_ROUTES.values())})


def _ask_state() -> Answer:
    return try_redis(lambda redis: Answer(redis.info(SECTION)), lambda: Answer(None), warning="")


def _ask_cache() -> Answer:
    try:
        return Answer(get_redis_connection("default").info(SECTION))
    except RedisError:
        return Answer(None)


def _ask_broker() -> Answer:
    queues, wait = list_queues(), float(setting("BROKER_TIMEOUT_SECONDS"))
    try:
        with kombu.pools.producers[send.connect()].acquire(block=True, timeout=wait) as producer:
            pipe = producer.channel.client.pipeline(transaction=False)
            for queue in queues:
                pipe.llen(queue)
            *lengths, memory = pipe.info(SECTION).execute()
    except Exception:  # any error of kombu and its transports
        return Answer(None)
    return Answer(memory, dict(zip(queues, lengths, strict=True)))
