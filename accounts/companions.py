"""What other applications want to know of a session on every page: asked in the session's own round trip.

This application knows none of them. One registers its companion when it is ready (``AppConfig.ready``):

>>> register("cart", 1, lambda pipe, digest: pipe.hget(keys.cart(digest), "copies"))

and finds the replies at the session (``request.session.said("cart")``; None: Redis was not asked). What they are worth
is its own business: they come from whatever Redis has, in one pipeline with the session, which is no transaction.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

Ask = Callable[[Any, str], object]


class Companion(NamedTuple):
    """size: how many commands ``ask`` adds to a pipeline, always; it is given the session's digest."""

    size: int
    ask: Ask


_registered: Final[dict[str, Companion]] = {}


def register(name: str, size: int, ask: Ask) -> None:
    """Have this asked beside every session that is read."""
    _registered[name] = Companion(size, ask)


def ask(pipe: Any, digest: str) -> None:
    """Add the commands of all of them."""
    for companion in _registered.values():
        companion.ask(pipe, digest)


def said(replies: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """The replies to what ``ask`` added, by name."""
    found, start = dict[str, Sequence[Any]](), 0
    for name, companion in _registered.items():
        found[name] = replies[start : start + companion.size]
        start += companion.size
    return found
