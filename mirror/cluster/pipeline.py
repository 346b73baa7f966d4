"""Pipelines of a client for Redis Cluster."""

from collections.abc import Iterable, Sequence
from typing import Any

from redis.client import Pipeline

from mirror.redis import quick
from mirror.redis.session import Command, get_pool


class ClusterPipeline(Pipeline):
    """A pipeline of a cluster client. As a transaction, its keys must be in one slot."""

    def __init__(self, pool: Any, callbacks: Any, transaction: bool, shard_hint: Any) -> None:
        super().__init__(pool, callbacks, transaction, shard_hint)
        self._is_transaction = transaction

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        stack = self.command_stack
        try:
            replies = self._ask([args for args, _ in stack])
            if raise_on_error:
                _raise_first(replies)
            read = []
            for (args, options), reply in zip(stack, replies, strict=True):
                is_error = isinstance(reply, Exception)
                read.append(reply if is_error else quick.read_reply(self, args[0], options, reply))
            return read
        finally:
            self.reset()

    def _ask(self, commands: Sequence[Command]) -> list[Any]:
        if not (self._is_transaction and commands):
            return quick.ask(get_pool(self), commands)
        replies = quick.ask(get_pool(self), [("MULTI",), *commands, ("EXEC",)])
        # Before EXEC there are only acknowledgements. An error among them means that nothing was executed.
        _raise_first(replies)
        executed: list[Any] = replies[-1]
        return executed


def _raise_first(replies: Iterable[Any]) -> None:
    """Raise the first error among the replies."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
