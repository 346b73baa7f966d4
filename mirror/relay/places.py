"""Places that pass from one row to another, as a name does: strings, and fields of a hash that several rows share.

The drain of the row that gives up such a place may run after that of the row that takes it. So a drain removes a place
only if the place still has the value of its own row.
"""

from collections.abc import Iterable, Iterator, Mapping

from mirror.comparison import plan
from mirror.declare.entries import Contribution, Field, OwnField, Value

Place = tuple[str, ...]
Values = Mapping[Place, str | None]  # the values in Redis
Claim = Field | Value  # an entry at a place; an ``OwnField`` is one that no other row takes


def is_claim(entry: Contribution) -> bool:
    """Return whether another row may have the place of this entry."""
    return isinstance(entry, Claim) and not isinstance(entry, OwnField)


def list_claims(entries: Iterable[Contribution]) -> Iterator[Claim]:
    """Yield the entries whose places another row may have."""
    for entry in entries:
        # The condition of ``is_claim``, without a call for each entry of a drain.
        if isinstance(entry, Claim) and not isinstance(entry, OwnField):
            yield entry


def find_places(entries: Iterable[Contribution]) -> set[Place]:
    """Return the places of these entries that another row may have."""
    return {plan.place(entry) for entry in list_claims(entries)}


def has_other_value(added: Iterable[Contribution], values: Values) -> bool:
    """Return whether one of these places has another value than the entry that is to be added there."""
    for entry in list_claims(added):
        value = values.get(plan.place(entry))
        if value is not None and value != entry[-1]:
            return True
    return False


def decode_value(reply: bytes | None) -> str | None:
    """Return the value of a place from the reply of Redis."""
    return None if reply is None else reply.decode(errors="replace")
