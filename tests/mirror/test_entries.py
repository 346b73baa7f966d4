"""Contributions are split into single entries."""

from mirror import Member, Members, Scored
from mirror.declare.entries import Contribution, single


def test_members_of_many_sets_become_one_entry_per_set() -> None:
    given: list[Contribution] = [Members(("a", "b"), "7"), Scored("z", "7", 1), Members((), "7")]
    assert list(single(given)) == [Member("a", "7"), Member("b", "7"), Scored("z", "7", 1)]
