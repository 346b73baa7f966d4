"""Several readers in one round trip: ``mirror.together``."""

from contextlib import ExitStack
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import translation

import mirror
from mirror import Mirror, Ranking, SetOf, register
from mirror.capture import install
from mirror.declare.questions import Outcome, Pending, answer_all
from mirror.read import prefetch
from mirror.read.prefetch import known
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only
from mirror.upkeep import rebuild
from tests.projects.mirrortest.mirrors import GroupHash
from tests.projects.mirrortest.models import Group, Item
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


def test_functions_whose_replies_were_read_ahead_go_on_before_the_round_trip() -> None:
    with known(prefetch.Prefetched([], [])):
        with mirror.together() as reads:
            reads(GroupedItem.top, "grouped_scores", 2)
        foreseen = prefetch.present()
        assert foreseen
        ahead = prefetch.fetch(foreseen.asked[0])
    with record() as seen, known(ahead), mirror.together() as reads:
        best = reads(find_best, count=2)
        number = reads(GroupedItem.count, "grouped_all")
        worst = reads(find_worst)
    assert (best.value, number.value, worst.value) == (["item 4", "item 3"], 5, ["item 0"])
    # The records of the best, the number, and the id of the worst; then the record of the worst.
    assert (seen.round_trips, len(seen.sql)) == (2, 0)
    with record() as seen, known(ahead), mirror.together() as reads:
        best = reads(find_best, count=2)
        number = reads(GroupedItem.count, "grouped_all")
    assert (best.value, number.value, seen.round_trips) == (["item 4", "item 3"], 5, 1)


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


def test_a_function_runs_once_and_goes_on_behind_its_questions() -> None:
    ran: list[str] = []

    def find_in_steps() -> int:
        ran.append("began")
        try:
            number = GroupedItem.count("grouped_all")
        except BaseException:
            ran.append("interrupted")
            raise
        ran.append("ended")
        return number

    with mirror.together() as reads:
        found: Pending[int] = reads(find_in_steps)
    assert found.value == 5
    assert ran == ["began", "ended"]


def test_what_a_function_changes_in_its_context_stays_with_it() -> None:
    def count_in_english() -> tuple[int, str]:
        with translation.override("en"):
            return GroupedItem.count("grouped_all"), translation.get_language()

    def find_language() -> tuple[str, str]:
        before = translation.get_language()
        GroupedItem.count("grouped_all")
        return before, translation.get_language()

    with translation.override("zh-hans"):
        with mirror.together() as reads:
            english, chinese = reads(count_in_english), reads(find_language)
        assert english.value == (5, "en")
        assert chinese.value == ("zh-hans", "zh-hans")
        assert translation.get_language() == "zh-hans"


def test_an_error_leaves_the_blocks_of_functions_that_wait() -> None:
    left: list[str] = []

    def count_in_a_block() -> int:
        with ExitStack() as stack:
            stack.callback(left.append, "block")
            return GroupedItem.count("grouped_all")

    waiting: list[Pending[int]] = []
    with pytest.raises(LookupError, match="unknown"), mirror.together() as reads:
        waiting.append(reads(count_in_a_block))
        reads(GroupedItem.top, "unknown", 1)
    assert left == ["block"]
    with pytest.raises(RuntimeError, match="after its block"):
        _ = waiting[0].value


def test_functions_may_run_readers_in_async_code() -> None:
    with record() as seen, mirror.together() as reads:
        number, best = reads(async_to_sync(GroupedItem.acount), "grouped_all"), reads(find_best, 1)
    assert (number.value, best.value) == (5, ["item 4"])
    assert (seen.round_trips, seen.sql) == (2, [])


def test_no_questions_at_all_are_answered_at_once() -> None:
    with record() as seen, mirror.together() as reads:
        nothing: Pending[list[Outcome]] = reads(answer_all, [])
        number = reads(GroupedItem.count, "grouped_all")
    assert (nothing.value, number.value, seen.round_trips) == ([], 5, 1)
