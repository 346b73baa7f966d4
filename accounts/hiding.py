"""Who is not shown to whom, where people are named: asked in the round trip that asks who they are.

This application knows of no blocks. Who does registers when it is ready (``AppConfig.ready``).
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple


class Hides(NamedTuple):
    """viewer: the id of who looks; people: those who would be named.

    mirror: the one that has to be whole. ask: adds exactly one command to a pipeline. found: whom its reply hides.
    by_sql: the same, from SQL.
    """

    mirror: str
    ask: Callable[[Any, int, Sequence[int]], object]
    found: Callable[[int, Sequence[int], Any], Collection[int]]
    by_sql: Callable[[int, Collection[int]], Collection[int]]


_registered: Final[dict[str, Hides]] = {}


def register(hides: Hides) -> None:
    """Have this asked wherever somebody who is logged in is shown others."""
    _registered[hides.mirror] = hides


def mirrors(viewer: int | None) -> list[str]:
    """The mirrors that have to be whole for all of them."""
    return [] if viewer is None else list(_registered)


def ask(pipe: Any, viewer: int | None, people: Sequence[int]) -> None:
    """Add the commands of all of them; none for a stranger, or for nobody."""
    if viewer is not None and people:
        for hides in _registered.values():
            hides.ask(pipe, viewer, people)


def found(viewer: int | None, people: Sequence[int], replies: Sequence[Any]) -> set[int]:
    """Whom the replies to what ``ask`` added hide."""
    if viewer is None or not people:
        return set()
    said = zip(_registered.values(), replies, strict=True)
    return {pk for hides, reply in said for pk in hides.found(viewer, people, reply)}


def by_sql(viewer: int | None, people: Collection[int]) -> set[int]:
    """As ``found``, from SQL."""
    if viewer is None or not people:
        return set()
    return {pk for hides in _registered.values() for pk in hides.by_sql(viewer, people)}
