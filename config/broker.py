"""Acknowledgements of tasks while the broker is away or full.

Kombu keeps a task whose acknowledgement failed in the count of unacknowledged ones. After a few of them a worker takes
no more tasks, even when the broker is back. A full broker even ends the worker.
"""

import logging

from kombu.transport import redis, virtual
from redis.exceptions import OutOfMemoryError, RedisError

logger = logging.getLogger("mirror")


class ForgetfulQoS(redis.QoS):
    """Does not count a task whose acknowledgement failed. The broker delivers it again, which tasks allow for."""

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a task. Raises redis-py's errors unless the broker is full."""
        try:
            super().ack(delivery_tag)
        except RedisError as error:
            virtual.QoS.ack(self, delivery_tag)
            if not isinstance(error, OutOfMemoryError):
                raise
            logger.warning("The broker is full, and will deliver a task again: %s", error)


def install() -> None:
    """Let the channels of this process use it."""
    redis.Channel.QoS = ForgetfulQoS
