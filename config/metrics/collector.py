"""Gauges of the Redis servers, of Celery's queues and of moderation, read whenever the metrics are requested."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from django.conf import settings
from django_redis import get_redis_connection
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from common import clock
from common.servers import open_broker
from mirror.redis import RedisClient, list_servers, try_redis
from mirror.status import NO_WRITE, accepts_writes
from mirror.utils import SQL_AWAY
from social.moderation.selectors import read_open_cases


class Answer(NamedTuple):
    """The answer of the state, the cache or the broker. queues: their lengths.

    info: replies to INFO by address, "" for a single server, or None while the server is away. accepts_writes: None if
    this was not asked.
    """

    info: Mapping[str, Mapping[str, Any] | None]
    queues: Mapping[str, int] = {}
    accepts_writes: bool | None = None


AWAY: Final = Answer({"": None})


class SiteCollector(Collector):
    """The gauges. For a server that is away, ``diptych_redis_up`` is 0, and the others are missing."""

    def describe(self) -> list[Metric]:
        """Return nothing, so that registration asks no server."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges. At most two round trips for each server, and one more for a cluster."""
        up = GaugeMetricFamily("diptych_redis_up", "Whether this Redis server answers.", labels=["server"])
        used = GaugeMetricFamily("diptych_redis_memory_bytes", "Memory that Redis uses.", labels=["server"])
        most = GaugeMetricFamily("diptych_redis_max_memory_bytes", "Its limit; 0: none.", labels=["server"])
        policy = GaugeMetricFamily(
            "diptych_redis_policy", "1: what happens at this limit.", labels=["server", "policy"]
        )
        evicted = CounterMetricFamily("diptych_redis_evicted_keys", "Keys that were evicted.", labels=["server"])
        writes = GaugeMetricFamily("diptych_redis_writable", "Whether this server accepts writes.", labels=["server"])
        queues = GaugeMetricFamily("diptych_queue_length", "Tasks that wait for a worker.", labels=["queue"])
        for server, ask in {"state": _ask_state, "cache": ask_cache, "broker": ask_broker}.items():
            infos, lengths, accepts = ask()
            for address, info in infos.items():
                name = f"{server} {address}".rstrip()
                up.add_metric([name], info is not None)
                if info is not None:
                    used.add_metric([name], info["used_memory"])
                    most.add_metric([name], info["maxmemory"])
                    policy.add_metric([name, info["maxmemory_policy"]], 1)
                    evicted.add_metric([name], info["evicted_keys"])
            if accepts is not None:
                writes.add_metric([server], accepts)
            for queue, length in lengths.items():
                queues.add_metric([queue], length)
        yield from (up, used, most, policy, evicted, writes, queues)
        yield from _make_moderation_gauges()
        if settings.LAST_BACKUP_FILE.exists():
            name, text = "diptych_last_backup_timestamp_seconds", "Time of the last backup by `site backup`."
            yield GaugeMetricFamily(name, text, settings.LAST_BACKUP_FILE.stat().st_mtime)


def _make_moderation_gauges() -> Iterator[Metric]:
    """Yield the number of open cases and the age of the oldest one, in one statement. None while SQL is away."""
    try:
        count, oldest = read_open_cases()
    except SQL_AWAY:
        return
    yield GaugeMetricFamily("diptych_open_cases", "Cases of moderation that wait for a decision.", count)
    age = (clock.now() - oldest).total_seconds() if oldest else 0.0
    yield GaugeMetricFamily("diptych_oldest_case_seconds", "The age of the oldest of them; 0: none.", age)


def list_queues() -> list[str]:
    """Return the names of Celery's queues."""
    return sorted({settings.CELERY_TASK_DEFAULT_QUEUE, *(r["queue"] for r in settings.CELERY_TASK_ROUTES.values())})


def _ask_state() -> Answer:
    return try_redis(_ask_masters, lambda: AWAY, warning="")


def _ask_masters(redis: RedisClient) -> Answer:
    infos = {address: _read_info(server) for address, server in list_servers(redis).items()}
    return Answer(infos, accepts_writes=None if None in infos.values() else accepts_writes(redis))


def ask_cache() -> Answer:
    """Ask the cache server."""
    return Answer({"": _read_info(get_redis_connection("default"))})


def _read_info(redis: RedisClient) -> Mapping[str, Any] | None:
    try:
        return redis.info()
    except RedisError:
        return None


def ask_broker() -> Answer:
    """Ask the broker, also whether it accepts writes."""
    queues = list_queues()
    try:
        with open_broker() as client:
            pipe = client.pipeline(transaction=False)
            for queue in queues:
                pipe.llen(queue)
            pipe.info().execute_command(*NO_WRITE)
            *lengths, info, refusal = pipe.execute(raise_on_error=False)
    except Exception:  # any error of kombu and its transports
        return AWAY
    if isinstance(info, Exception):
        return AWAY
    return Answer({"": info}, dict(zip(queues, lengths, strict=True)), not isinstance(refusal, Exception))
