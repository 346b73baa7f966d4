"""Commands as they are sent to the nodes of a cluster, and how the replies become one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

from mirror.redis.session import Command

Combine = Callable[[list[Any]], Any]
MASTERS: Final = 1024  # of a scan's cursor: the remainder is the number of a master


def get_first(replies: list[Any]) -> Any:
    """Return the first of equal replies."""
    return replies[0]


def join_lists(replies: list[Any]) -> list[Any]:
    """Return one list of the members of all replies."""
    return list(chain.from_iterable(replies))


# Sent to every master; how the replies become one.
EVERYWHERE: Final[dict[str, Combine]] = {
    "CLIENT": get_first,  # PAUSE and UNPAUSE
    "DBSIZE": sum,
    "FLUSHALL": get_first,
    "FLUSHDB": get_first,
    "KEYS": join_lists,
    "SCRIPT": get_first,
}


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
    combine: Combine = get_first

    def combine_reply(self) -> Any:
        """Return the reply to the command, or the first error among those to its pieces."""
        replies = [piece.reply for piece in self.pieces]
        for reply in replies:
            if isinstance(reply, Exception):
                return reply
        return self.combine(replies)


def combine_values(places: Sequence[Sequence[int]]) -> Combine:
    """Return a function that puts the values of MGETs into the order of the caller's keys."""

    def combine(replies: list[Any]) -> list[Any]:
        values = dict(zip(chain(*places), chain(*replies), strict=True))
        return [values[place] for place in range(len(values))]

    return combine


def combine_scan(number: int, masters: int) -> Combine:
    """Return a function that puts the number of the next master to scan into a cursor."""

    def combine(replies: list[Any]) -> list[Any]:
        reply, names = replies[0]
        cursor = int(reply)
        following = 0  # the end of the scan
        if cursor:
            following = cursor * MASTERS + number
        elif number + 1 < masters:
            following = number + 1  # the beginning of the next master
        return [str(following).encode(), names]

    return combine
