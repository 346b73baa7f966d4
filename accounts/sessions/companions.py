"""Extra reads of other applications, which are sent in the round trip that reads the session on every page.

The subject of a companion is the digest of the session:

>>> companions.register(Addition(name="cart", ask=lambda pipe, digest: pipe.hget(keys.cart(digest), "copies")))

The replies are found at the session: ``request.session.said("cart")``, or None if Redis was not asked. The application
itself decides whether to trust them: the pipeline is not a transaction, and only the session's mirror is checked.
"""

from typing import Any, Final, NamedTuple

from mirror.redis_types import RedisPipeline

AddCommands = Callable[[RedisPipeline, str], object]


class Companion(NamedTuple):
    """A registered read. size: the fixed number of commands that ``ask(pipe, digest)`` adds to a pipeline."""

    size: int
    ask: AddCommands


_registered: Final

from common.additions import Addition, Additions


def add_commands(pipe: RedisPipeline, digest: str) -> None:
    """Add the commands of all companions: Final = Additions[Addition]()
