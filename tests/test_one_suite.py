"""Which tests run on one database only."""

import pytest

from tests.support.one_suite import Recorded, choose, kind_of, kind_of_command, shorten

pytestmark = pytest.mark.on_sqlite


def test_statements_differ_in_more_than_values() -> None:
    assert kind_of("SELECT 1 WHERE id IN (%s, %s, %s)") == kind_of("SELECT 1 WHERE id IN (%s)")
    assert kind_of("SELECT id FROM book") != kind_of("SELECT id FROM author")


def test_commands_differ_in_more_than_values() -> None:
    assert kind_of_command(("ZADD", "a", "GT", 1, b"x")) == kind_of_command(("ZADD", b"b", "GT", 2, b"XY"))
    assert kind_of_command(("ZADD", "a", 1, b"x")) != kind_of_command(("ZADD", "a", "GT", 1, b"x"))
    assert kind_of_command(("EVALSHA", "1a", 1, "a")) != kind_of_command(("EVALSHA", "2b", 1, "a"))


def test_all_kinds_of_statements_stay() -> None:
    def recorded(statements: str, *, seconds: float = 1.0, stays: bool = False) -> Recorded:
        return Recorded(frozenset(statements), seconds, stays)

    tests = {
        "threads": recorded("a", stays=True),
        "slow": recorded("bcd", seconds=9),
        "quick": recorded("bc"),
        "only": recorded("e"),
        "last[1]": recorded("d"),
        "last[2]": recorded("d"),
        "same[1]": recorded("a"),
        "same[2]": recorded("ab"),
    }
    assert shorten(choose(tests), tests) in (["last[1]", "same", "slow"], ["last[2]", "same", "slow"])
