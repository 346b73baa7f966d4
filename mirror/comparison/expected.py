"""The expected content of Redis, computed from SQL, as one checksum per key.

A key's checksum combines the number of its members and the sum of their 64-bit hashes. The content of Redis is
summed up the same way while it is read. So the memory for a comparison grows with the number of keys, not of
members. Only keys with different checksums are compared closely. SMISMEMBER for each expected member would take
twice the time and find no strays. Python salts the hashes of
each process with a new value, so no two sets have equal sums always.
"""

from collections import defaultdict
from collections.abc import Iterable

from mirror.comparison.scan import Content
from mirror.comparison.structures import STRUCTURES, structure_of
from mirror.declare.entries import Bit, Contribution, Entry, Member, Members, Scored, Value

ONE = 1 << 80  # added for each member, besides its hash


def describe_entry(entry: Entry) -> tuple[str, str, str]:
    """Return an entry as (key, member, value as text), in the form of ``scan.Content.items``."""
    return structure_of(entry).describe(entry)


class Sums:
    """A number for each key: the sum of its members' hashes, with their count in the high bits."""

    def __init__(self) -> None:
        self.totals: defaultdict[str, int] = defaultdict(int)

    def add(self, contributions: Iterable[Contribution]) -> None:
        """Add these contributions."""
        totals = self.totals
        # No "match" and no methods of a structure, which take several times as long: this runs for every row.
        for fact in contributions:
            if isinstance(fact, Members):
                # One hash for all sets of a row.
                one = ONE + hash(fact.member.encode())
                for key in fact.keys:
                    totals[key] += one
            elif isinstance(fact, Scored):
                # 1 and 1.0 have the same hash.
                totals[fact.key] += ONE + hash((fact.member.encode(), fact.score))
            elif isinstance(fact, Member):
                totals[fact.key] += ONE + hash(fact.member.encode())
            elif isinstance(fact, Value):
                totals[fact.key] += ONE + hash(fact.value.encode())
            elif isinstance(fact, Bit):
                # In a tuple, because an integer is its own hash.
                totals[fact.key] += ONE + hash((fact.offset,))
            else:
                totals[fact.key] += ONE + hash((fact.field.encode(), fact.value.encode()))

    def agree(self, content: Content) -> bool:
        """Return whether a key has its expected content."""
        hashed = STRUCTURES[content.family.kind].list_hashed(content.raw)
        total = len(content.raw) * ONE + sum(map(hash, hashed))
        return total == self.totals.get(content.key, 0)
