"""Several readers in one round trip: ``mirror.together``."""

from typing import Any

import pytest

import mirror
from mirror import Mirror, Ranking, SetOf, register
from mirror.capture import install
from mirror.declare.questions import Pending
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only
from mirror.upkeep import rebuild
from tests.support.mirror.app.mirrors import GroupHash
from tests.support.mirror.app.models import Group, Item
from tests.support.mirror.items import drained, make

pytestmark = [pytest.mark.usefixtures("committed", "own_registry"), pytest.mark.also_on("cluster")]


class GroupedItem(Mirror):
    """Items by score."""

    name = "grouped_item"
    model = Item
    key = "grouped:{pk}"
    fields = ["name", "score"]
    indexes = [Ranking("grouped_scores", score="score"), SetOf("grouped_all")]


@pytest.fixture(autouse=True)
def items(own_registry: None) -> list[Item]:
    register(GroupedItem)
    install.install()
    made = [make(f"item {n}", score=n) for n in range(5)]
    rebuild.rebuild(["grouped_item", "tgroup"])
    drained()
    GroupedItem.get(1)  # opens the connection
    return made


def find_best(count: int) -> list[str]:
    """Return the names of the best items: ids, then records."""
    found = GroupedItem.get_many(GroupedItem.top("grouped_scores", count))
    return [item["name"] for item in found.values()]


def test_readers_and_functions_share_their_round_trips() -> None:
    with record() as seen, mirror.together() as reads:
        best = reads(find_best, count=2)
        number = reads(GroupedItem.count, "grouped_all")
        worst = reads(find_worst)
        nothing: Pending[dict[int, Any]] = reads(GroupedItem.get_many, [])
    assert best.value == ["item 4", "item 3"]
    assert (number.value, worst.value, nothing.value) == (5, ["item 0"], {})
    assert (seen.round_trips, len(seen.sql)) == (2, 0)


def find_worst() -> list[str]:
    """Return the name of the worst item, by a block in the block."""
    (pk,) = GroupedItem.bottom("grouped_scores", 1)
    with mirror.together() as reads:
        item, is_there = reads(GroupedItem.get, pk), reads(GroupedItem.filter_members, "grouped_all", [pk])
    assert is_there.value == {pk}
    return [item.value["name"]] if item.value else []


def test_sql_answers_the_questions_of_cold_mirrors_alone(items: list[Item]) -> None:
    group = Group.objects.create(name="one")
    drained()
    relay_client().delete(naming.marker("tgroup"))
    with record() as seen, mirror.together() as reads:
        own, other = reads(GroupHash.get, group.pk), reads(GroupedItem.get, items[2].pk)
    assert own.value == {"name": "one", "items": "0"}
    assert other.value == {"name": "item 2", "score": 2}
    assert seen.round_trips >= 1
    assert not [sql for sql in seen.sql if "_item" in sql and "score" in sql]


def test_sql_answers_everything_while_it_is_asked_to(items: list[Item]) -> None:
    with sql_only(), record() as seen, mirror.together() as reads:
        best, number = reads(find_best, 1), reads(GroupedItem.count, "grouped_all")
    assert (best.value, number.value) == (["item 4"], 5)
    assert seen.round_trips == 0


def test_values_are_known_after_the_block_only() -> None:
    with mirror.together() as reads:
        number = reads(GroupedItem.count, "grouped_all")
        with pytest.raises(RuntimeError, match="after its block"):
            _ = number.value
    assert number.value == 5


def test_errors_of_readers_leave_the_block() -> None:
    with pytest.raises(LookupError, match="has no Ranking at 'unknown'"), mirror.together() as reads:
        reads(GroupedItem.top, "unknown", 1)


def test_a_function_cannot_catch_the_interruption() -> None:
    """A function may handle any error of its own, and still waits for its answer."""

    def find_safely() -> int:
        try:
            return GroupedItem.count("grouped_all")
        except Exception:
            return -1

    with mirror.together() as reads:
        found: Pending[int] = reads(find_safely)
    assert found.value == 5


def test_a_function_that_changes_its_questions_is_refused() -> None:
    """Its second run would take the answers to other questions."""
    runs = iter([GroupedItem.count, GroupHash.get])

    def find_anything() -> Any:
        return next(runs)("grouped_all")  # type: ignore[operator]

    with pytest.raises(RuntimeError, match="other questions"), mirror.together() as reads:
        reads(find_anything)
