"""Find tasks that wait in the broker, so that regular work is not queued again while no worker takes it.

The queue itself is read: a note beside it would be wrong after a purge, an expired task or a lost broker.
"""

from typing import Any, Final

import orjson

MAX_READ: Final = 500  # a longer queue takes no regular work


def is_waiting(channel: Any, queue: str, task: str, arguments: str) -> bool:
    """Return whether a task with these arguments waits in a queue, or the queue is too long for regular work.

    channel: a channel of kombu. arguments: in the form of the header ``argsrepr``. Only queues in Redis can be read;
    another broker gets the task. Raises redis-py's errors.
    """
    client: Any = getattr(channel, "client", None)
    if not hasattr(client, "lrange"):
        return False
    messages = client.lrange(queue, 0, MAX_READ)
    wanted = (task, arguments)
    return len(messages) > MAX_READ or any(_read_task(message) == wanted for message in messages)


def _read_task(message: bytes) -> tuple[str, str]:
    headers = orjson.loads(message)["headers"]
    return headers["task"], headers["argsrepr"]
