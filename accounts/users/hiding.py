"""Hide users from a viewer wherever users are listed, in the round trip that reads their names.

This application does not know blocks. An application that does registers a rule: a function of readers that returns
which users it hides from a viewer.
"""

from collections.abc import Callable, Collection
from typing import Final

import mirror

Rule = Callable[[int, Collection[int]], set[int]]  # from a viewer and users to the hidden ones among them

_rules: Final[list[Rule]] = []


def register(rule: Rule) -> None:
    """Add a rule."""
    _rules.append(rule)


def find_hidden_ids(viewer: int | None, people: Collection[int]) -> set[int]:
    """Return the users among ``people`` that are hidden from the viewer; none from an anonymous visitor (None)."""
    if viewer is None or not people:
        return set()
    with mirror.together() as reads:
        found = [reads(rule, viewer, people) for rule in _rules]
    return set[int]().union(*(hidden.value for hidden in found))
