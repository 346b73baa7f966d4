"""What a query is made of. Nodes are values: equal when they say the same in the same order."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tag:
    """The books with a tag; its name is normalised."""

    name: str


@dataclass(frozen=True, slots=True)
class And:
    """The books that are in every part (at least one)."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The books that are in any part (at least one)."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The books that are not in a part. A difference ``a - b`` is ``And((a, Not(b)))``."""

    part: "Node"


Node = Tag | And | Or | Not
