"""Send tasks to Celery from a request, without errors or delay.

``.delay()`` can hang while the broker is away (celery#4296): Celery's own producers have the time-outs of workers,
and retry. So tasks are sent with separate producers without retries. After a failure they send nothing for a while,
and beat's sweep does the work instead. Without Celery no task is sent: ``mirror run`` finds most of the work by itself,
and the rest is left for it in Redis, as are warm-ups that the broker did not take.
"""

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson

from mirror.conf import setting
from mirror.redis import naming, recorder
from mirror.redis.circuit_breaker import Breaker
from mirror.redis.clients import try_redis
from mirror.redis.types import RedisClient
from mirror.relay import waiting
from mirror.utils.failure_log import FailureLog
from mirror.utils.throttle import Throttle

__all__ = ["connect", "drain", "is_waiting", "sweep_soon", "task"]
SWEEP_REQUEST_SECONDS: Final = 5.0  # how often one process requests a sweep for readers and sources
try:
    import kombu.pools
    from celery import current_app
    from celery.utils.saferepr import saferepr
except ModuleNotFoundError as error:
    # Another missing module means that Celery is installed, but incomplete.
    if error.name not in ("celery", "kombu"):
        raise
    HAS_CELERY = False
else:
    HAS_CELERY = True
logger = logging.getLogger("mirror")
troubles = FailureLog(logger)
broker = Breaker()
sweep_requests = Throttle(lambda: SWEEP_REQUEST_SECONDS)
MOST = 1000  # keys in one task
UNBOUNDED_SECONDS = 3600.0  # recorded for a connection without a time-out
failures = 0  # number of hints that this process could not send
TASKS: Final = "mirror.tasks."
LEFT: Final = frozenset({"perform", "warm", "rebuild", "verify"})
MOST_LEFT = 10_000  # requests; older ones are dropped, and readers repeat theirs
LEFT_SECONDS = 60
_performers: list[Callable[..., bool]] = []


@contextmanager
def performed_by(perform: Callable[..., bool]) -> Generator[None, None, None]:
    """Give this process's hints to ``perform(name, *args, **kwargs)`` within the block, instead of to the broker.

    ``perform`` must not wait for the work. It returns whether the work will be done.
    """
    _performers.append(perform)
    try:
        yield
    finally:
        _performers.remove(perform)


def drain(mirror: str, keys: list[str]) -> None:
    """Send a task that drains these keys."""
    for start in range(0, len(keys), MOST):
        _send_hint("drain_keys", args=(mirror, keys[start : start + MOST]))


def sweep() -> None:
    """Send a task for a sweep."""
    _send_hint("sweep", expires=10)


def sweep_soon() -> None:
    """Send a task for a sweep, at most every few seconds in each process, because beat requests one every second.

    For a reader that found a cold mirror, and a writer that changed a source.
    """
    if sweep_requests.allows():
        sweep()


def rebuild(mirror: str, *, if_cold: bool = True) -> bool:
    """Send a task that rebuilds this mirror. Return whether the broker accepted it."""
    return _send_hint("rebuild", args=(mirror,), kwargs={"if_cold": if_cold}, expires=60)


def is_rebuild_waiting(mirror: str) -> bool:
    """Return whether a task that rebuilds this mirror waits for a worker."""
    return not _performers and is_waiting(f"{TASKS}rebuild", (mirror,))


def push(mirror: str, source: str, keys: Sequence[str] = ()) -> bool:
    """Send tasks that push these rows (none: all pending ones). Return whether the broker accepted all of them."""
    if not keys:
        return _send_hint("push", args=(mirror, source, []), expires=10)
    # After a refusal the broker is taken to be away, so the other parts are not sent.
    for start in range(0, len(keys), MOST):
        part = list(keys[start : start + MOST])
        if not _send_hint("push", args=(mirror, source, part), expires=None):
            return False
    return True


def warm(mirror: str, owner: str) -> bool:
    """Send a task that warms a lazy window. Return whether the broker accepted it.

    A site may have Celery installed without a broker, and use ``mirror run``. So the request is left for it as well.
    """
    arguments = (mirror, owner)
    if _send_hint("warm", args=arguments, expires=60):
        return True
    # Without Celery the request was left already.
    if HAS_CELERY:
        _leave_request(_encode_request("warm", args=arguments))
    return False


def verify(mirror: str) -> bool:
    """Send a task that verifies this mirror. Return whether the broker accepted it."""
    return _send_hint("verify", args=(mirror,), expires=600)


def consume_visits() -> None:
    """Send a task that writes visits to SQL, unless one waits for a worker."""
    if _performers or not is_waiting(f"{TASKS}consume_visits"):
        _send_hint("consume_visits", expires=5)


def perform(job_id: int) -> bool:
    """Send a task that performs a job which staff requested. Return whether the broker accepted it."""
    return _send_hint("perform", args=(job_id,), expires=3600)


def _send_hint(name: str, **options: Any) -> bool:
    """Send a task, or give it to the process's own performer, or leave it. Return whether it will be done."""
    if _performers:
        perform = _performers[-1]
        return perform(name, *options.get("args", ()), **options.get("kwargs", {}))
    # ``mirror run`` finds all other work by itself.
    if not HAS_CELERY and name in LEFT:
        return _leave_request(_encode_request(name, **options))
    return task(TASKS + name, **options)


def _encode_request(name: str, **options: Any) -> bytes:
    return orjson.dumps([name, options.get("args", ()), options.get("kwargs", {})])


def _leave_request(request: bytes) -> bool:
    """Leave a request for ``mirror run``. Return whether Redis accepted it."""

    def push(redis: RedisClient) -> bool:
        pipe = redis.pipeline(transaction=False)
        name = naming.requests()
        pipe.lpush(name, request)
        # Without a reader the list stays short, and expires.
        pipe.ltrim(name, 0, MOST_LEFT - 1)
        pipe.expire(name, LEFT_SECONDS)
        pipe.execute()
        return True

    return try_redis(push, lambda: False)


def take(redis: RedisClient, limit: int) -> list[tuple[str, Sequence[Any], dict[str, Any]]]:
    """Take the oldest requests that were left: job, arguments, options."""
    found: Any = redis.rpop(naming.requests(), limit)
    return [tuple(orjson.loads(request)) for request in found or ()]


def _run_task(name: str, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None, **options: Any) -> bool:
    """Run a task in this process. Return whether it succeeded."""
    try:
        # Only workers have imported the modules with the tasks. This also runs all system checks.
        if name not in current_app.tasks:
            current_app.loader.import_default_modules()
        return bool(current_app.tasks[name].apply(args, kwargs).successful())
    except Exception:
        # Any error of the task, if Celery passes errors of eager tasks on.
        logger.exception("The task %s failed", name)
        return False


def connect() -> Any:
    """Return a connection to the broker with the time-out of requests. Workers wait longer for tasks."""
    seconds = _get_timeout()
    hasty = {"max_retries": 0, "socket_timeout": seconds, "socket_connect_timeout": seconds}
    return current_app.connection_for_write(transport_options=hasty)


def is_waiting(name: str, arguments: Sequence[Any] = (), *, channel: Any = None) -> bool:
    """Return whether a task with these arguments waits for a worker, or its queue is too long for regular work.

    channel: a channel of kombu (None: one with the time-outs of requests). Return False without Celery, and for a
    broker that does not tell. Raises errors of the given channel only.
    """
    if not HAS_CELERY or current_app.conf.task_always_eager:
        return False
    if channel is None and broker.open():
        return False
    queue = current_app.amqp.router.route({}, name)["queue"].name
    # As Celery describes them in a message.
    described = saferepr(arguments, current_app.amqp.argsrepr_maxsize)
    if channel is not None:
        return waiting.is_waiting(channel, queue, name, described)
    try:
        with _acquire_producer(connect()) as producer:
            return waiting.is_waiting(producer.channel, queue, name, described)
    except Exception:
        # Any error of kombu and its transports. The task itself will report it.
        return False


def _acquire_producer(connection: Any) -> Any:
    return kombu.pools.producers[connection].acquire(block=True, timeout=_get_timeout())


def _get_timeout() -> float:
    return float(setting("BROKER_TIMEOUT_SECONDS"))


def task(name: str, **options: Any) -> bool:
    """Send a task by its name, because callers often cannot import the task's module.

    options: as for Celery's ``send_task``. Return whether the broker accepted the task: False without Celery. With
    Celery's ``task_always_eager``, run it instead, and return whether it succeeded. Never raises.
    """
    global failures
    # ``send_task`` ignores the setting, so the task is run here.
    if HAS_CELERY and current_app.conf.task_always_eager:
        return _run_task(name, **options)
    if not HAS_CELERY or broker.open():
        return False
    connection = connect()
    try:
        with _acquire_producer(connection) as producer:
            current_app.send_task(name, producer=producer, retry=False, ignore_result=True, **options)
    except Exception as error:
        # Any error of kombu and its transports.
        failures += 1
        seconds = connection.transport_options.get("socket_timeout", UNBOUNDED_SECONDS)
        recorder.timed_out(seconds)
        broker.failed()
        troubles.add("broker", "The broker did not take a hint, the sweep will do it: %s", error)
        return False
    troubles.end("broker", "The broker takes hints again")
    return True
