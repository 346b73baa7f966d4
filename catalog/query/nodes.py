"""The nodes of a query. Nodes are values: they are equal if their parts are equal in the same order."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tag:
    """The books with a tag; its name is normalised."""

    name: str


@dataclass(frozen=True, slots=True)
class And:
    """The books that are in every part. There is at least one part."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The books that are in any part. There is at least one part."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The books that are not in the part. A difference ``a - b`` is ``And((a, Not(b)))``."""

    part: "Node"


Node = Tag | And | Or | Not
