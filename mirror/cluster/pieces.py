"""Commands as they are sent to the nodes of a cluster, and how the replies become one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, Final, NamedTuple

from mirror.redis.session import Command

# Sent to every master; how the replies become one.
EVERYWHERE: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "CLIENT": itemgetter(0),  # PAUSE and UNPAUSE
    "DBSIZE": sum,
    "FLUSHALL": itemgetter(0),
    "FLUSHDB": itemgetter(0),
    "KEYS": lambda replies: [*chain(*replies)],
    "SCRIPT": itemgetter(0),
}
MASTERS: Final = 1024  # of a scan's cursor: the remainder is the number of a master

Combine = Callable[[list[Any]], Any]


@dataclass
class Piece:
    """A command as it is sent to one node, and its reply. is_fixed: part of a transaction, never sent again."""

    node: str
    command: Command
    is_fixed: bool = False
    reply: Any = None


class Sent(NamedTuple):
    """A command of the caller, and the pieces that it became. combine: makes one reply of theirs."""

    pieces: list[Piece]
    combine: Combine = itemgetter(0)

    def reply(self) -> Any:
        """Return the reply to the command, or the first error among those to its pieces."""
        replies = [piece.reply for piece in self.pieces]
        errors = (reply for reply in replies if isinstance(reply, Exception))
        return next(errors, None) or self.combine(replies)


def combine_values(places: Sequence[Sequence[int]]) -> Combine:
    """Return a function that puts the values of MGETs into the order of the caller's keys."""

    def combine(replies: list[Any]) -> list[Any]:
        values = dict(zip(chain(*places), chain(*replies), strict=True))
        return [values[place] for place in sorted(values)]

    return combine


def combine_scan(number: int, masters: int) -> Combine:
    """Return a function that puts the number of the next master to scan into a cursor."""

    def combine(replies: list[Any]) -> list[Any]:
        cursor, names = int(replies[0][0]), replies[0][1]
        if cursor:
            return [str(cursor * MASTERS + number).encode(), names]
        return [str(number + 1 if number + 1 < masters else 0).encode(), names]

    return combine
