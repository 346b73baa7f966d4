"""The difference between two lists of entries, and the fewest commands that write it."""

import orjson
import pytest

from mirror import Field, Member, Members, OwnField, Scored, Value
from mirror.comparison.plan import ARGUMENTS, as_list, commands, difference, encode_feed, from_list, place
from mirror.declare.entries import Contribution, Entry

ONE_OF_EACH: list[Entry] = [Member("s", "m"), Scored("z", "m", 1.5), Field("h", "f", "v"), Value("k", "v")]


def test_equal_entries_need_no_command() -> None:
    assert difference(ONE_OF_EACH, ONE_OF_EACH) == ([], [])


def test_old_entries_are_removed_and_new_ones_added() -> None:
    assert difference([Member("s", "old")], [Member("s", "new")]) == ([Member("s", "old")], [Member("s", "new")])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Scored("z", "m", 1), Scored("z", "m", 2)),
        (Field("h", "f", "1"), Field("h", "f", "2")),
        (Value("k", "1"), Value("k", "2")),
    ],
)
def test_changed_value_is_overwritten_without_a_removal(before: Entry, after: Entry) -> None:
    assert difference([before], [after]) == ([], [after])


def test_members_of_many_sets_equal_the_same_single_members() -> None:
    gone, new = difference([Members(("a", "b"), "7")], [Members(("b", "c"), "7")])
    assert (gone, new) == ([Member("a", "7")], [Member("c", "7")])
    assert difference([Members(("a", "b"), "7")], [Member("b", "7"), Member("a", "7")]) == ([], [])


def test_integer_score_equals_the_same_float() -> None:
    assert difference([Scored("z", "m", 3)], [Scored("z", "m", 3.0)]) == ([], [])


def test_commands_are_grouped_by_key_with_removals_first() -> None:
    found = commands(
        [Member("s", "1"), Member("s", "2"), Scored("z", "1", 0), Field("h", "f", "x"), Value("k", "x")],
        [Member("s", "3"), Members(("s", "t"), "4"), Scored("z", "2", 1.5), Field("h", "g", "y"), Value("l", "y")],
    )
    assert found == [
        ("DEL", "k"),
        ("SREM", "s", "1", "2"),
        ("ZREM", "z", "1"),
        ("HDEL", "h", "f"),
        ("SADD", "s", "3", "4"),
        ("SADD", "t", "4"),
        ("ZADD", "z", 1.5, "2"),
        ("HSET", "h", "g", "y"),
        ("MSET", "l", "y"),
    ]


@pytest.mark.parametrize(("kind", "each"), [(lambda i: Member("k", str(i)), 1), (lambda i: Scored("k", str(i), i), 2)])
def test_commands_have_a_bounded_number_of_arguments(kind: object, each: int) -> None:
    entries = [kind(i) for i in range(2 * ARGUMENTS + 1)]  # type: ignore[operator]
    assert [(len(c) - 2) // each for c in commands([], entries)] == [ARGUMENTS, ARGUMENTS, 1]


def test_no_entries_give_no_commands() -> None:
    assert commands([], []) == []


@pytest.mark.parametrize("entry", ONE_OF_EACH)
def test_entry_survives_a_round_trip_through_json(entry: Entry) -> None:
    assert from_list(orjson.loads(orjson.dumps(as_list(entry)))) == entry


def test_place_of_an_entry_leaves_out_its_value() -> None:
    assert [place(entry) for entry in ONE_OF_EACH] == [("s", "m"), ("z", "m"), ("h", "f"), ("k",)]


def test_news_encode_removals_additions_and_infinite_scores() -> None:
    told = orjson.loads(encode_feed([Member("s", "1")], [Members(("t", "u"), "2"), Scored("z", "m", float("-inf"))]))
    assert told == [
        [0, "set", "s", "1"],
        [1, "set", "t", "2"],
        [1, "set", "u", "2"],
        [1, "zset", "z", "m", "-inf"],
    ]


def test_own_field_is_written_and_removed_like_any_field() -> None:
    own, field = OwnField("h", "f", "v"), Field("h", "f", "v")
    assert commands([own], [own]) == commands([field], [field])
    assert as_list(own) == as_list(field)


def test_moved_entries_are_neither_removed_nor_added() -> None:
    before: list[Contribution] = [Member("a", "7"), Scored("z", "7", 1), Member("b", "7")]
    after: list[Contribution] = [Member("b", "7"), Scored("z", "7", 2), Member("a", "7")]
    assert difference(before, after) == ([], [Scored("z", "7", 2)])
