"""What SQL says Redis should hold, small enough to keep for any number of rows.

For each key of a family only two numbers are kept: how many members it should have, and the sum of their hashes
(64 bit). What Redis holds is summed up the same way while it is read, so two sets are compared in memory that
grows with the number of keys and not with the number of members. Only keys whose sums differ are looked at closely.
"""

from collections import defaultdict
from collections.abc import Iterable

from mirror.entries import Contribution, Entry, Field, Member, Members, Scored, Value


def says(entry: Entry) -> tuple[str, str, str]:
    """An entry as (key, member, what it says), as ``scan.Content`` has it."""
    match entry:
        case Member(key, member):
            return key, member, ""
        case Scored(key, member, score):
            return key, member, repr(float(score))
        case Field(key, field, value):
            return key, field, value
        case Value(key, value):
            return key, "", value


class Sums:
    """Count and hash sum for each key."""

    def __init__(self) -> None:
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.hashes: defaultdict[str, int] = defaultdict(int)

    def add(self, contributions: Iterable[Contribution]) -> None:
        """Count these in."""
        counts, hashes = self.counts, self.hashes
        for contribution in contributions:
            if type(contribution) is Members:  # one hash for all the sets that a row is in
                hashed = hash((contribution.member, ""))
                for key in contribution.keys:
                    counts[key] += 1
                    hashes[key] += hashed
            else:
                key, member, said = says(contribution)
                counts[key] += 1
                hashes[key] += hash((member, said))

    def agree(self, key: str, items: list[tuple[str, str]]) -> bool:
        """Whether a key that holds ``items`` is as it should be."""
        return len(items) == self.counts.get(key, 0) and sum(map(hash, items)) == self.hashes.get(key, 0)
