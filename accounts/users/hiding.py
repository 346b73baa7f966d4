"""Hide users from a viewer wherever users are listed, in the round trip that reads their names.

This application does not know blocks. An application that does registers its rule in ``AppConfig.ready``.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple

from mirror.redis_types import RedisPipeline


class HidingRule(NamedTuple):
    """A rule that hides users (``people``, by id) from a ``viewer`` (an id).

    mirror: the name of the mirror that must be warm. ask: adds exactly one command to a pipeline. found: returns the
    ids that its reply hides. by_sql: returns the same from SQL.
    """

    mirror: str
    ask: Callable[[RedisPipeline, int, Sequence[int]], object]
    found: Callable[[int, Sequence[int], Any], Collection[int]]
    by_sql: Callable[[int, Collection[int]], Collection[int]]


_registered: Final[dict[str, HidingRule]] = {}


def register(hides: HidingRule) -> None:
    """Add a rule for all lists of users that a logged-in user sees."""
    _registered[hides.mirror] = hides


def list_mirrors(viewer: int | None) -> list[str]:
    """Return the names of the mirrors that all rules read; an empty list for anonymous visitors."""
    return [] if viewer is None else list(_registered)


def add_commands(pipe: RedisPipeline, viewer: int | None, people: Sequence[int]) -> None:
    """Add the commands of all rules; none for an anonymous visitor or an empty list of users."""
    if viewer is not None and people:
        for hides in _registered.values():
            hides.ask(pipe, viewer, people)


def parse_hidden_ids(viewer: int | None, people: Sequence[int], replies: Sequence[Any]) -> set[int]:
    """Return the ids that are hidden, according to the replies to the commands of ``ask``."""
    if viewer is None or not people:
        return set()
    said = zip(_registered.values(), replies, strict=True)
    return {pk for hides, reply in said for pk in hides.found(viewer, people, reply)}


def find_hidden_ids_in_sql(viewer: int | None, people: Collection[int]) -> set[int]:
    """Return the ids that are hidden, according to SQL."""
    if viewer is None or not people:
        return set()
    return {pk for hides in _registered.values() for pk in hides.by_sql(viewer, people)}
