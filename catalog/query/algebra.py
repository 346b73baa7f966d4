"""What a query means, over sets of any kind."""

from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_, or_
from typing import Any, Protocol, TypeVar, cast

from catalog.query.nodes import And, Node, Not, Tag


class SetLike(Protocol):
    """A Python set, a roaring bitmap, ..."""

    def __and__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=SetLike)


def evaluate(node: Node, members: Callable[[str], T], universe: Callable[[], T]) -> T:
    """The books that satisfy ``node``.

    members: from a tag's name to its books. universe: all books; called only when the query as a whole is
    a "none of" (``-web``, ``ruby | -web``), at most once. The result may be the very value that
    ``members`` gave: do not change it.
    """
    found, negated = _evaluate(node, members)
    return cast("T", universe() - found) if negated else found


def _evaluate(node: Node, members: Callable[[str], T]) -> tuple[T, bool]:
    """A set, and whether the books *outside* it are meant: so the universe is not needed inside."""
    if isinstance(node, Tag):
        return members(node.name), False
    if isinstance(node, Not):
        found, negated = _evaluate(node.part, members)
        return found, not negated
    parts = [_evaluate(part, members) for part in node.parts]
    inside = [found for found, negated in parts if not negated]
    outside = [found for found, negated in parts if negated]
    if isinstance(node, And):
        if not inside:
            return reduce(or_, outside), True
        return reduce(lambda a, b: a - b, outside, reduce(and_, inside)), False
    if not outside:
        return reduce(or_, inside), False
    return reduce(lambda a, b: a - b, inside, reduce(and_, outside)), True


def _names(node: Node, positive: bool = True) -> Iterator[tuple[str, bool]]:
    """Every name, and whether it is asked for (or, under a negation, against)."""
    if isinstance(node, Tag):
        yield node.name, positive
    elif isinstance(node, Not):
        yield from _names(node.part, not positive)
    else:
        for part in node.parts:
            yield from _names(part, positive)


def terms(node: Node) -> frozenset[str]:
    """Every name in the query, asked for or against."""
    return frozenset(name for name, _ in _names(node))


def terms_in_order(node: Node) -> list[str]:
    """Every name in the query, once, in the order in which it is written."""
    return list(dict.fromkeys(name for name, _ in _names(node)))


def positive_terms(node: Node) -> frozenset[str]:
    """The names that are asked for."""
    return frozenset(name for name, positive in _names(node) if positive)
