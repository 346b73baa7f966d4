"""Evaluate queries over sets of any kind."""

from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_, or_, sub
from typing import Any, Protocol, TypeVar, cast

from catalog.query.nodes import And, Node, Not, Tag


class SetLike(Protocol):
    """A Python set, a roaring bitmap, or a similar type."""

    def __and__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=SetLike)


def evaluate(node: Node, members: Callable[[str], T], universe: Callable[[], T]) -> T:
    """Return the books that satisfy ``node``.

    members: returns the books with a tag. universe: returns all books. It is called at most once, and only if the query
    as a whole excludes books (``-web``, ``ruby | -web``). The result may be the same object that ``members`` returned:
    do not change it.
    """
    found, negated = _evaluate(node, members)
    return cast("T", universe() - found) if negated else found


def _evaluate(node: Node, members: Callable[[str], T]) -> tuple[T, bool]:
    """Return a set, and whether the result is its complement. Nested parts therefore never need the universe."""
    if isinstance(node, Tag):
        return members(node.name), False
    if isinstance(node, Not):
        found, negated = _evaluate(node.part, members)
        return found, not negated
    inside: list[T] = []
    outside: list[T] = []  # complements
    for part in node.parts:
        found, negated = _evaluate(part, members)
        (outside if negated else inside).append(found)
    # By De Morgan's laws: not a and not b = not (a or b); a or not b = not (b - a).
    if isinstance(node, And):
        if not inside:
            return reduce(or_, outside), True
        return reduce(sub, outside, reduce(and_, inside)), False
    if not outside:
        return reduce(or_, inside), False
    return reduce(sub, inside, reduce(and_, outside)), True


def _iterate_names(node: Node, positive: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield every name with True if the query includes it, False if the query excludes it."""
    if isinstance(node, Tag):
        yield node.name, positive
    elif isinstance(node, Not):
        yield from _iterate_names(node.part, not positive)
    else:
        for part in node.parts:
            yield from _iterate_names(part, positive)


def find_terms(node: Node) -> frozenset[str]:
    """Return all names in the query, included or excluded."""
    return frozenset(name for name, _ in _iterate_names(node))


def find_terms_in_order(node: Node) -> list[str]:
    """Return all names in the query, in the order of the text and without repetition."""
    return list(dict.fromkeys(name for name, _ in _iterate_names(node)))


def find_positive_terms(node: Node) -> frozenset[str]:
    """Return the names that the query includes."""
    return frozenset(name for name, positive in _iterate_names(node) if positive)
