"""Contributions, one fact at a time."""

from mirror import Member, Members, Scored
from mirror.entries import Contribution, single


def test_one_contribution_to_many_sets_is_as_many_facts() -> None:
    given: list[Contribution] = [Members(("a", "b"), "7"), Scored("z", "7", 1), Members((), "7")]
    assert list(single(given)) == [Member("a", "7"), Member("b", "7"), Scored("z", "7", 1)]
