"""Additions: data that applications add to the reads of another one, in the same round trip.

The other application knows none of them. Each registers its additions in ``AppConfig.ready``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from mirror import Question
from mirror.redis import RedisPipeline


@dataclass(frozen=True, kw_only=True)
class Addition:
    """An addition to a read. The subject of the read, such as the id of a book, precedes the other arguments.

    name: the key of its value. mirrors: the mirrors that must be warm. size: the fixed number of commands that
    ``add_commands`` adds to a pipeline. parse_replies: returns the value from the replies. read_from_sql: returns the
    same value from SQL.
    """

    name: str
    mirrors: Sequence[str] = ()
    size: int = 1
    add_commands: Callable[..., object]
    parse_replies: Callable[..., Any] = lambda *replies: replies
    read_from_sql: Callable[..., Any] = lambda *subject: None


A = TypeVar("A", bound=Addition)


class Additions(Generic[A]):
    """The additions to one read, in the order of their registration."""

    def __init__(self) -> None:
        self.registered: dict[str, A] = {}

    def register(self, addition: A) -> None:
        """Add ``addition``, or replace the one with its name."""
        self.registered[addition.name] = addition

    def list_mirrors(self) -> list[str]:
        """Return the mirrors that must be warm, each once."""
        return list(dict.fromkeys(name for addition in self.registered.values() for name in addition.mirrors))

    def ask(self, *subject: Any) -> Question[dict[str, Any]]:
        """Return the question for the values of all additions, by name."""
        # A question, because the commands belong to applications that this one does not know.
        return Question(
            self.list_mirrors(),
            ask=lambda pipe: self.add_commands(pipe, *subject),
            decode=lambda replies: self.read_replies(replies, *subject),
            load=lambda: self.load_from_sql(*subject),
        )

    def add_commands(self, pipe: RedisPipeline, *subject: Any) -> None:
        """Add the commands of all additions to a pipeline."""
        for addition in self.registered.values():
            addition.add_commands(pipe, *subject)

    def read_replies(self, replies: Iterable[Any], *subject: Any) -> dict[str, Any]:
        """Return the values by name, from the replies to ``add_commands``. Takes no more of an iterator than these."""
        left = iter(replies)
        return {name: each.parse_replies(*subject, *islice(left, each.size)) for name, each in self.registered.items()}

    def load_from_sql(self, *subject: Any) -> dict[str, Any]:
        """Return the same values as ``read_replies``, from SQL."""
        return {name: addition.read_from_sql(*subject) for name, addition in self.registered.items()}
