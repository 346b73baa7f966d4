"""``manage.py mirror``: what each action prints, for people and in JSON, and the code it ends with."""

from typing import Any

import pytest
from redis import Redis

from mirror import apply, rebuild, registry
from mirror.models import Change
from mirror.naming import key
from tests.support.mirror import world
from tests.support.mirror.app.models import Item, Label, Odd
from tests.support.mirror.command import ACTIONS, run

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


@pytest.fixture
def item() -> Item:
    """An item that is in Redis, in mirrors that are warm."""
    item = Item.objects.create(pk=7, name="a", score=2)
    item.labels.add(Label.objects.create(name="red"))
    world.warm_own()
    return item


@pytest.fixture
def spoilt(item: Item, redis: Redis) -> None:
    """One entry too many, one too few."""
    redis.sadd(key("{tlabel}:red"), 9)
    redis.zrem(key("titems:score"), 7)


@pytest.mark.parametrize("action", ACTIONS)
def test_when_all_is_well_every_action_ends_with_0(action: str, item: Item) -> None:
    assert run(action, *ACTIONS[action])[::2] == (0, "")
    found = run(action, *ACTIONS[action], "--json")
    assert (found.code, found.err) == (0, "")
    assert isinstance(found.said, list | dict)


def test_status_is_a_table_with_a_line_for_each_mirror(item: Item) -> None:
    Odd.objects.create(code="a")
    head, *lines = run("status").out.splitlines()
    assert head.split() == ["mirror", "state", "rows", "pending", "oldest", "quarantined", "layout"]
    assert len(lines) == len(registry.all_mirrors())
    odd = next(line for line in lines if line.startswith("t'odd"))
    assert odd.split()[:4] == ["t'odd", "warm", "1", "1"]


def test_status_in_json_has_the_names_of_the_contract(item: Item) -> None:
    found = next(status for status in run("status", "--json").said if status["mirror"] == "titem")
    assert found["warm"] is True
    assert (found["rows"], found["pending"], found["quarantined"], found["layout_version"]) == (1, 0, 0, 1)
    assert found["oldest_pending_seconds"] == 0.0


def test_status_of_a_rebuild_that_was_stopped_says_how_far_it_came() -> None:
    Odd.objects.create(code="a")

    def stop(mirror: str, rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild.rebuild(["t'odd"], progress=stop)
    assert "cold, 1 rows rebuilt" in run("status").out


def test_rebuild_says_how_many_rows_it_wrote_and_strays_it_removed(redis: Redis) -> None:
    Item.objects.create(name="a")
    redis.set(key("titem:999"), "{}")
    assert run("rebuild", "titem", "t'odd").out == "titem: 1 row, 1 stray removed\nt'odd: 0 rows, 0 strays removed\n"
    assert run("rebuild", "titem", "--json").said == [
        {"mirror": "titem", "rows": 1, "strays": 0, "skipped": False, "waits": [], "faults": []}
    ]


def test_rebuild_leaves_a_mirror_that_somebody_is_at(redis: Redis) -> None:
    redis.set(key("mirror:lease:rebuild:t'odd"), "them")
    assert run("rebuild", "t'odd").out == "t'odd: somebody else is rebuilding it\n"


def test_verify_lists_what_differs_and_ends_with_1(spoilt: None) -> None:
    found = run("verify", "titem")
    assert found.code == 1
    assert found.out.splitlines() == [
        f"titem 7: missing {key('titems:score')} 7: SQL says 2.0, Redis nothing",
        f"titem 9: stray {key('{tlabel}:red')} 9: SQL says nothing, Redis there",
        "2 differences",
    ]


def test_verify_in_json_has_each_difference_whole(spoilt: None) -> None:
    found = run("verify", "titem", "--json")
    assert found.code == 1
    assert found.said[1] == {
        "mirror": "titem",
        "pk": "9",
        "kind": "stray",
        "key": key("{tlabel}:red"),
        "entry": [key("{tlabel}:red"), "9"],
        "expected": None,
        "found": "",
    }


def test_verify_of_a_sample_looks_for_no_strays(spoilt: None) -> None:
    assert run("verify", "titem", "--sample", "5").out.endswith("\n1 difference\n")


def test_repair_puts_right_what_verify_finds(spoilt: None, redis: Redis) -> None:
    found = run("repair", "titem")
    assert found.code == 0
    assert found.out.splitlines()[-2:] == ["2 differences", "2 rows put right"]
    assert world.dump(redis) == world.by_orm()


def test_repair_in_json_says_what_it_put_right(spoilt: None, redis: Redis) -> None:
    found = run("repair", "titem", "--json")
    assert (found.code, len(found.said)) == (0, 2)
    assert world.dump(redis) == world.by_orm()


def test_repair_without_doing_it_only_says_so_and_ends_with_1(spoilt: None, redis: Redis) -> None:
    before = world.dump(redis)
    found = run("repair", "titem", "--dry-run")
    assert found.code == 1
    assert found.out.endswith("2 differences\n")
    assert world.dump(redis) == before
    assert not Change.objects.pending().exists()


def test_repair_refuses_more_removals_than_it_may(spoilt: None, redis: Redis) -> None:
    before = world.dump(redis)
    found = run("repair", "titem", "--max-removals", "0")
    assert found.code == 2
    assert "--max-removals" in found.err
    assert world.dump(redis) == before


def test_repair_says_which_rows_it_could_not_put_right(spoilt: None, monkeypatch: pytest.MonkeyPatch) -> None:
    drain = apply.drain

    def fails_for_seven(mirror: Any, pks: list[str], **options: Any) -> Any:
        if "7" in pks:
            raise ZeroDivisionError
        return drain(mirror, pks, **options)

    monkeypatch.setattr(apply, "drain", fails_for_seven)
    found = run("repair", "titem")
    assert found.code == 1
    assert found.out.endswith("1 row put right\n")
    assert "1 row could not be put right" in found.err


def test_drain_applies_what_is_pending(item: Item) -> None:
    Odd.objects.bulk_create([Odd(code="a"), Odd(code="b")])
    assert run("drain").out == "2 changes applied, 0 pending\n"
    assert run("drain", "--json").said == {"applied": 0, "pending": 0}


def test_drain_ends_with_1_when_something_is_left(item: Item, monkeypatch: pytest.MonkeyPatch) -> None:
    Odd.objects.create(code="a")
    monkeypatch.setattr(registry.get("t'odd"), "record", None)
    assert run("drain")[:2] == (1, "0 changes applied, 1 pending\n")


def test_explain_shows_both_sides_of_every_entry_and_ends_with_1_where_they_differ(spoilt: None) -> None:
    found = run("explain", "mirrortest.Item", "7")
    assert found.code == 1
    assert f"  ! {key('titems:score')} 7  SQL: 2.0  Redis: nothing" in found.out.splitlines()
    assert f"  = {key('{tlabel}:red')} 7  SQL: there  Redis: there" in found.out.splitlines()
    assert run("explain", "titem", "7", "--json").said[0]["mirror"] == "titem"


def test_explain_names_the_changes_that_are_pending(item: Item) -> None:
    item.save()
    pending = Change.objects.pending().get(mirror="titem").pk
    assert f"  pending changes: {pending}" in run("explain", "titem", "7").out
