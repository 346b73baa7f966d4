"""Commands as they are sent to the nodes of a cluster, and how the replies become one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

from mirror.redis.session import Command

Combine = Callable[[list[Any]], Any]
MASTERS: Final = 1024  # a cursor of the whole cluster is that of a master times this, plus the master's number


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
    """Return a function that turns a master's reply to SCAN into that of a scan of all masters, one after another.

    number: that of the master, from 0 on. masters: how many there are.
    """

    def combine(replies: list[Any]) -> list[Any]:
        (reply,) = replies
        master_cursor, names = int(reply[0]), reply[1]
        cursor = 0  # the end of the scan
        if master_cursor:
            cursor = master_cursor * MASTERS + number
        elif number + 1 < masters:
            # Each master's scan begins with its cursor 0.
            cursor = number + 1
        return [str(cursor).encode(), names]

    return combine
