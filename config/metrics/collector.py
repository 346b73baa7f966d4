"""Gauges of the Redis servers and of Celery's queues, read whenever the metrics are requested."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from django.conf import settings
from django_redis import get_redis_connection
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from common.servers import open_broker
from mirror.redis import RedisClient, list_servers, try_redis
from mirror.status import NO_WRITE, accepts_writes

SECTION: Final = "memory"  # of INFO


class Answer(NamedTuple):
    """The answer of the state, the cache or the broker. queues: their lengths.

    memory: a section of INFO by address, "" for a single server, or None while the server is away. accepts_writes:
    None if this was not asked.
    """

    memory: Mapping[str, Mapping[str, Any] | None]
    queues: Mapping[str, int] = {}
    accepts_writes: bool | None = None


AWAY: Final = Answer({"": None})


class SiteCollector(Collector):
    """The gauges. For a server that is away, ``diptych_redis_up`` is 0, and the others are missing."""

    def describe(self) -> list[GaugeMetricFamily]:
        """Return nothing, so that registration asks no server."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges. At most two round trips for each server, and one more for a cluster."""
        up = GaugeMetricFamily("diptych_redis_up", "Whether this Redis server answers.", labels=["server"])
        used = GaugeMetricFamily("diptych_redis_memory_bytes", "Memory that Redis uses.", labels=["server"])
        most = GaugeMetricFamily("diptych_redis_max_memory_bytes", "Its limit; 0: none.", labels=["server"])
        writes = GaugeMetricFamily("diptych_redis_writable", "Whether this server accepts writes.", labels=["server"])
        queues = GaugeMetricFamily("diptych_queue_length", "Tasks that wait for a worker.", labels=["queue"])
        for server, ask in {"state": _ask_state, "cache": _ask_cache, "broker": _ask_broker}.items():
            memory, lengths, accepts = ask()
            for address, info in memory.items():
                name = f"{server} {address}".rstrip()
                up.add_metric([name], info is not None)
                if info is not None:
                    used.add_metric([name], info["used_memory"])
                    most.add_metric([name], info["maxmemory"])
            if accepts is not None:
                writes.add_metric([server], accepts)
            for queue, length in lengths.items():
                queues.add_metric([queue], length)
        yield from (up, used, most, writes, queues)


def list_queues() -> list[str]:
    """Return the names of Celery's queues."""
    return sorted({settings.CELERY_TASK_DEFAULT_QUEUE, *(r["queue"] for r in settings.CELERY_TASK_ROUTES.values())})


def _ask_state() -> Answer:
    return try_redis(_ask_masters, lambda: AWAY, warning="")


def _ask_masters(redis: RedisClient) -> Answer:
    memory = {address: _read_memory(server) for address, server in list_servers(redis).items()}
    return Answer(memory, accepts_writes=None if None in memory.values() else accepts_writes(redis))


def _ask_cache() -> Answer:
    return Answer({"": _read_memory(get_redis_connection("default"))})


def _read_memory(redis: RedisClient) -> Mapping[str, Any] | None:
    try:
        return redis.info(SECTION)
    except RedisError:
        return None


def _ask_broker() -> Answer:
    queues = list_queues()
    try:
        with open_broker() as client:
            pipe = client.pipeline(transaction=False)
            for queue in queues:
                pipe.llen(queue)
            pipe.info(SECTION).execute_command(*NO_WRITE)
            *lengths, memory, refusal = pipe.execute(raise_on_error=False)
    except Exception:  # any error of kombu and its transports
        return AWAY
    if isinstance(memory, Exception):
        return AWAY
    return Answer({"": memory}, dict(zip(queues, lengths, strict=True)), not isinstance(refusal, Exception))
