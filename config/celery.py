"""The Celery application. Workers run it as ``celery -A config worker``."""

import logging
import os
from typing import Any, Final

import click
from celery import Celery
from celery.signals import before_task_publish, celeryd_init, setup_logging, task_postrun, task_prerun
from django.utils.log import configure_logging
from kombu.transport import redis, virtual
from redis.exceptions import OutOfMemoryError, RedisError
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from mirror.utils import FailureLog

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

failures: Final = FailureLog(logging.getLogger("mirror"))
REQUEST_ID: Final = "request_id"  # a header of tasks, and a field of log lines


class ForgetfulQoS(redis.QoS):
    """Does not count a task whose acknowledgement failed. The broker delivers it again, which tasks allow for.

    Kombu would count it for ever. After a few of them a worker takes no more tasks, even when the broker is back. A
    full broker would even end the worker, and lose the task that it has taken.
    """

    def append(self, message: virtual.Message, delivery_tag: str) -> None:
        """Note that a task is delivered. If the broker is full, it is not delivered again after a crash."""
        try:
            super().append(message, delivery_tag)
        except OutOfMemoryError as error:
            virtual.QoS.append(self, message, delivery_tag)
            failures.add("deliver", "The broker is full, and will not deliver a task again: %s", error)

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a task. Raises redis-py's errors unless the broker is full."""
        try:
            super().ack(delivery_tag)
        except RedisError as error:
            virtual.QoS.ack(self, delivery_tag)
            if not isinstance(error, OutOfMemoryError):
                raise
            failures.add("acknowledge", "The broker is full, and will deliver a task again: %s", error)


app = Celery("diptych")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
redis.Channel.QoS = ForgetfulQoS
app.user_options["worker"].add(click.Option(["--beat-thread"], is_flag=True, help="Also run beat, as a thread."))
app.steps["worker"].add("config.beat:BeatThread")


@setup_logging.connect
def _keep_logging(**kwargs: Any) -> None:
    """Keep Django's logging settings: with a receiver of this signal, Celery does not install its own formats."""


@celeryd_init.connect
def _log_warnings(conf: Any, **kwargs: Any) -> None:
    """Log Python's warnings like other lines. Celery warns of a worker of root before it configures logging."""
    configure_logging(conf.LOGGING_CONFIG, conf.LOGGING)
    logging.captureWarnings(True)


@before_task_publish.connect
def _send_request_id(headers: dict[str, Any], **kwargs: Any) -> None:
    """Send the id of the request, or of the task's own request, with a task."""
    headers[REQUEST_ID] = get_contextvars().get(REQUEST_ID)


@task_prerun.connect
def _bind_request_id(task: Any, **kwargs: Any) -> None:
    bind_contextvars(task=task.name, task_id=task.request.id)
    if request_id := task.request.get(REQUEST_ID):
        bind_contextvars(request_id=request_id)


@task_postrun.connect
def _clear_request_id(**kwargs: Any) -> None:
    clear_contextvars()
