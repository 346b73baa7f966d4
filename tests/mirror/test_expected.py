"""The checksums that verification compares detect every kind of difference."""

from typing import Any

import pytest

from mirror import Family, Field, Member, Members, Scored, Value
from mirror.comparison.expected import Sums, describe_entry
from mirror.comparison.scan import Content
from mirror.declare.entries import Contribution
from mirror.declare.watches import Kind


def agrees(given: list[Contribution], kind: Kind, raw: list[Any]) -> bool:
    sums = Sums()
    sums.add(given)
    return sums.agree(Content("k", Family("k", kind, lambda key, member: member), raw))


def test_equal_entries_agree_in_any_order() -> None:
    assert agrees([Member("k", "1"), Members(("k", "other"), "2")], "set", [b"2", b"1"])
    assert agrees([Scored("k", "1", 3), Scored("k", "2", 0.5)], "zset", [(b"1", b"3"), (b"2", b"0.5")])
    assert agrees([Field("k", "f", "v")], "hash", [(b"f", b"v")])
    assert agrees([Value("k", "v")], "string", [b"v"])


@pytest.mark.parametrize(
    ("kind", "given", "raw"),
    [
        ("set", [Member("k", "1")], []),
        ("set", [Member("k", "1")], [b"1", b"2"]),
        ("set", [Member("k", "1")], [b"2"]),
        ("set", [], [b"1"]),
        ("zset", [Scored("k", "1", 3)], [(b"1", b"4")]),
        ("zset", [Scored("k", "1", 3)], [(b"2", b"3")]),
        ("hash", [Field("k", "f", "v")], [(b"f", b"w")]),
        ("hash", [Field("k", "f", "v")], [(b"g", b"v")]),
        ("string", [Value("k", "v")], [b"w"]),
        ("string", [Value("k", "v")], []),
    ],
)
def test_every_kind_of_difference_changes_the_checksum(kind: Kind, given: list[Contribution], raw: list[Any]) -> None:
    assert not agrees(given, kind, raw)


def test_extra_member_with_the_hash_zero_is_detected() -> None:
    """The hash of an int is the int itself. A member whose hash is 0 is detected because members are counted."""
    sums = Sums()
    sums.totals["k"] = 0
    assert not sums.agree(Content("k", Family("k", "set", lambda key, member: member), [0]))


def test_entry_is_described_by_key_member_and_value() -> None:
    assert describe_entry(Member("k", "m")) == ("k", "m", "")
    assert describe_entry(Scored("k", "m", 2)) == ("k", "m", "2.0")
    assert describe_entry(Field("k", "f", "v")) == ("k", "f", "v")
    assert describe_entry(Value("k", "v")) == ("k", "", "v")
