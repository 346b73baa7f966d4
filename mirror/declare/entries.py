"""Entries: the facts that a row contributes to Redis besides its record.

All parts are strings as in Redis, but for scores and offsets, with keys as the code names them. Two entries with the
same place overwrite each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Member(NamedTuple):
    """The set ``key`` has ``member``."""

    key: str
    member: str


class Members(NamedTuple):
    """Each of the sets ``keys`` has ``member``. Equal to many ``Member``s, but as cheap as one."""

    keys: Sequence[str]
    member: str


class Scored(NamedTuple):
    """The sorted set ``key`` has ``member`` with ``score`` (exact up to 2**53)."""

    key: str
    member: str
    score: float


class Field(NamedTuple):
    """The hash ``key`` has ``value`` in ``field``. A field can pass from one row to another."""

    key: str
    field: str
    value: str


class OwnField(Field):
    """A field that no other row ever writes, because its name contains the row's key.

    It is not watched, so rows that write the same hash do not conflict.
    """

    __slots__ = ()


class Value(NamedTuple):
    """The string ``key`` has ``value``. A key can pass from one row to another."""

    key: str
    value: str


class Bit(NamedTuple):
    """The bitmap ``key`` has the bit at ``offset`` set (0 is the highest bit of the first byte)."""

    key: str
    offset: int


Entry = Member | Scored | Field | Value | Bit  # a single fact
Contribution = Entry | Members  # the results of a declaration


def single(contributions: Iterable[Contribution]) -> Iterator[Entry]:
    """Yield the same facts, one by one."""
    for contribution in contributions:
        if type(contribution) is Members:
            for key in contribution.keys:
                yield Member(key, contribution.member)
        else:
            yield contribution  # type: ignore[misc]
