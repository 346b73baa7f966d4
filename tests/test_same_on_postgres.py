"""Which tests the suite on PostgreSQL leaves out."""

import pytest

from tests.support.same_on_postgres import Recorded, choose, kind_of

pytestmark = pytest.mark.on_sqlite


def test_statements_differ_in_more_than_values() -> None:
    assert kind_of("SELECT 1 WHERE id IN (%s, %s, %s)") == kind_of("SELECT 1 WHERE id IN (%s)")
    assert kind_of("SELECT id FROM book") != kind_of("SELECT id FROM author")


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
    assert choose(tests) in (["last[1]", "same", "slow"], ["last[2]", "same", "slow"])
