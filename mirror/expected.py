"""What SQL says Redis should hold, small enough to keep for any number of rows.

For each key of a family only one number is kept, made of how many members it should have and the sum of their hashes
(64 bit). What Redis holds is summed up the same way while it is read, so two sets are compared in memory that
grows with the number of keys and not with the number of members. Only keys whose sums differ are looked at closely.
"""

from collections import defaultdict
from collections.abc import Iterable

from mirror.entries import Contribution, Entry, Field, Member, Members, Scored, Value
from mirror.scan import Content

ONE = 1 << 80  # what a member adds to its key's total besides its hash


def says(entry: Entry) -> tuple[str, str, str]:
    """An entry as (key, member, what it says), as ``scan.Content.items`` has it."""
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
    """One number for each key: the sum of its members' hashes, and their count in the high bits."""

    def __init__(self) -> None:
        self.totals: defaultdict[str, int] = defaultdict(int)

    def add(self, contributions: Iterable[Contribution]) -> None:
        """Count these in."""
        totals = self.totals
        for fact in contributions:  # no "match": it takes five times as long, and this runs for every row
            if isinstance(fact, Members):  # one hash for all the sets that a row is in
                one = ONE + hash(fact.member.encode())
                for key in fact.keys:
                    totals[key] += one
            elif isinstance(fact, Scored):
                totals[fact.key] += ONE + hash((fact.member.encode(), fact.score))  # 1 and 1.0 have one hash
            elif isinstance(fact, Member):
                totals[fact.key] += ONE + hash(fact.member.encode())
            elif isinstance(fact, Value):
                totals[fact.key] += ONE + hash(fact.value.encode())
            else:
                totals[fact.key] += ONE + hash((fact.field.encode(), fact.value.encode()))

    def agree(self, content: Content) -> bool:
        """Whether a key holds what it should."""
        found = content.raw
        if content.family.kind == "zset":
            found = [(member, float(score)) for member, score in found]
        return len(found) * ONE + sum(map(hash, found)) == self.totals.get(content.key, 0)
