"""Hide users from a viewer wherever users are listed, in the round trip that reads their names.

This application does not know blocks. An application that does registers a rule: an addition whose subject is a viewer
and users, by id, and whose value is the ids that it hides. Those who remain keep their ranks: without gaps, every page
of the leaderboard would depend on its viewer from the first rank on.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

from common.additions import Addition, Additions
from mirror.redis import RedisPipeline

rules: Final = Additions[Addition]()


def list_mirrors(viewer: int | None) -> list[str]:
    """Return the names of the mirrors that all rules read; an empty list for anonymous visitors."""
    return [] if viewer is None else rules.list_mirrors()


def add_commands(pipe: RedisPipeline, viewer: int | None, people: Sequence[int]) -> None:
    """Add the commands of all rules; none for an anonymous visitor or an empty list of users."""
    if viewer is not None and people:
        rules.add_commands(pipe, viewer, people)


def parse_hidden_ids(viewer: int | None, people: Sequence[int], replies: Sequence[Any]) -> set[int]:
    """Return the ids that are hidden, according to the replies to ``add_commands``."""
    if viewer is None or not people:
        return set()
    return set().union(*rules.read_replies(replies, viewer, people).values())


def find_hidden_ids_in_sql(viewer: int | None, people: Collection[int]) -> set[int]:
    """Return the ids that are hidden, according to SQL."""
    if viewer is None or not people:
        return set()
    return set().union(*rules.load_from_sql(viewer, people).values())
