"""From what should go and what should come, to the fewest commands that do it."""

import orjson
import pytest

from mirror import Field, Member, Members, OwnField, Scored, Value
from mirror.entries import Entry
from mirror.plan import ARGUMENTS, as_list, commands, difference, from_list, news, place

pytestmark = pytest.mark.on_sqlite

ONE_OF_EACH: list[Entry] = [Member("s", "m"), Scored("z", "m", 1.5), Field("h", "f", "v"), Value("k", "v")]


def test_what_was_and_still_is_needs_no_command() -> None:
    assert difference(ONE_OF_EACH, ONE_OF_EACH) == ([], [])


def test_what_was_and_is_no_more_goes_and_what_is_new_comes() -> None:
    assert difference([Member("s", "old")], [Member("s", "new")]) == ([Member("s", "old")], [Member("s", "new")])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Scored("z", "m", 1), Scored("z", "m", 2)),
        (Field("h", "f", "1"), Field("h", "f", "2")),
        (Value("k", "1"), Value("k", "2")),
    ],
)
def test_a_place_that_says_something_else_is_overwritten_and_not_taken_away(before: Entry, after: Entry) -> None:
    assert difference([before], [after]) == ([], [after])


def test_many_sets_told_as_one_are_as_many_told_one_by_one() -> None:
    gone, new = difference([Members(("a", "b"), "7")], [Members(("b", "c"), "7")])
    assert (gone, new) == ([Member("a", "7")], [Member("c", "7")])
    assert difference([Members(("a", "b"), "7")], [Member("b", "7"), Member("a", "7")]) == ([], [])


def test_a_score_that_was_an_integer_is_the_same_as_a_float() -> None:
    assert difference([Scored("z", "m", 3)], [Scored("z", "m", 3.0)]) == ([], [])


def test_commands_are_grouped_by_key_and_removals_come_first() -> None:
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
def test_no_command_has_more_arguments_than_are_quick(kind: object, each: int) -> None:
    entries = [kind(i) for i in range(2 * ARGUMENTS + 1)]  # type: ignore[operator]
    assert [(len(c) - 2) // each for c in commands([], entries)] == [ARGUMENTS, ARGUMENTS, 1]


def test_nothing_to_do_is_no_command() -> None:
    assert commands([], []) == []


@pytest.mark.parametrize("entry", ONE_OF_EACH)
def test_an_entry_comes_back_from_json_as_it_was(entry: Entry) -> None:
    assert from_list(orjson.loads(orjson.dumps(as_list(entry)))) == entry


def test_the_place_of_an_entry_leaves_out_what_it_says() -> None:
    assert [place(entry) for entry in ONE_OF_EACH] == [("s", "m"), ("z", "m"), ("h", "f"), ("k",)]


def test_news_tell_what_went_and_what_came_and_scores_that_json_does_not_know() -> None:
    told = orjson.loads(news([Member("s", "1")], [Members(("t", "u"), "2"), Scored("z", "m", float("-inf"))]))
    assert told == [
        [0, "set", "s", "1"],
        [1, "set", "t", "2"],
        [1, "set", "u", "2"],
        [1, "zset", "z", "m", "-inf"],
    ]


def test_a_field_of_a_rows_own_is_written_and_taken_away_as_any_other() -> None:
    own, field = OwnField("h", "f", "v"), Field("h", "f", "v")
    assert commands([own], [own]) == commands([field], [field])
    assert as_list(own) == as_list(field)
