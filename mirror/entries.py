"""Entries: the facts that a row contributes to Redis beside its own record.

All parts are strings as they are in Redis; keys carry the prefix. Two entries with the same
``identity`` are the same place in Redis, and the later one overwrites the earlier.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Member(NamedTuple):
    """``member`` is in the set ``key``."""

    key: str
    member: str


class Members(NamedTuple):
    """``member`` is in each of the sets ``keys``: as many ``Member``s, at the price of one."""

    keys: Sequence[str]
    member: str


class Scored(NamedTuple):
    """``member`` is in the sorted set ``key`` with ``score`` (exact up to 2**53)."""

    key: str
    member: str
    score: float


class Field(NamedTuple):
    """The hash ``key`` says ``value`` at ``field``. Rows may take a field over from one another."""

    key: str
    field: str
    value: str


class OwnField(Field):
    """A field that no other row ever says anything at (it bears the row's own key): so it need not be watched, and
    rows that write the same hash are not in one another's way.
    """

    __slots__ = ()


class Value(NamedTuple):
    """The string ``key`` says ``value``. Rows may take a key over from one another."""

    key: str
    value: str


Entry = Member | Scored | Field | Value  # one fact
Contribution = Entry | Members  # what a declaration may give


def single(contributions: Iterable[Contribution]) -> Iterator[Entry]:
    """The same facts, one by one."""
    for contribution in contributions:
        if type(contribution) is Members:
            for key in contribution.keys:
                yield Member(key, contribution.member)
        else:
            yield contribution  # type: ignore[misc]
