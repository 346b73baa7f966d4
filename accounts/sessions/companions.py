"""Extra reads of other applications, which are sent in the round trip that reads the session on every page.

An application registers its companion in ``AppConfig.ready``, so this one does not depend on it:

>>> register("cart", 1, lambda pipe, digest: pipe.hget(keys.cart(digest), "copies"))

and finds the replies at the session: ``request.session.said("cart")``, or None if Redis was not asked. The application
itself decides whether to trust them: the pipeline is not a transaction, and only the session's mirror is checked.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from mirror.redis_types import RedisPipeline

AddCommands = Callable[[RedisPipeline, str], object]


class Companion(NamedTuple):
    """A registered read. size: the fixed number of commands that ``ask(pipe, digest)`` adds to a pipeline."""

    size: int
    ask: AddCommands


_registered: Final[dict[str, Companion]] = {}


def register(name: str, size: int, ask: AddCommands) -> None:
    """Register a read that accompanies each read of a session."""
    _registered[name] = Companion(size, ask)


def add_commands(pipe: RedisPipeline, digest: str) -> None:
    """Add the commands of all companions to a pipeline."""
    for companion in _registered.values():
        companion.ask(pipe, digest)


def split_replies(replies: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Return the replies to the commands of ``ask``, by the name of the companion."""
    found, start = dict[str, Sequence[Any]](), 0
    for name, companion in _registered.items():
        found[name] = replies[start : start + companion.size]
        start += companion.size
    return found
