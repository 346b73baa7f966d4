"""The output and exit codes of ``manage.py mirror``, as text and as JSON."""

from typing import Any

import pytest
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.outbox.changes import WHOLE
from mirror.relay import apply
from mirror.relay.drains import drain_all
from mirror.upkeep import rebuild
from tests.projects.mirrortest.models import Item, Label, Odd
from tests.support.mirror import world
from tests.support.mirror.command import ACTIONS, run

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


@pytest.fixture
def item() -> Item:
    """Create an item in warm mirrors."""
    item = Item.objects.create(pk=7, name="a", score=2)
    item.labels.add(Label.objects.create(name="red"))
    world.warm_own()
    return item


@pytest.fixture
def spoilt(item: Item, redis: Redis) -> None:
    """Add one stray entry and remove one valid entry."""
    redis.sadd("{tlabel}:red", 9)
    redis.zrem("titems:score", 7)


@pytest.mark.parametrize("action", [a for a in ACTIONS if a != "doctor"])
def test_every_action_exits_with_0_without_differences(action: str, item: Item) -> None:
    assert run(action, *ACTIONS[action])[::2] == (0, "")
    found = run(action, *ACTIONS[action], "--json")
    assert (found.code, found.err) == (0, "")
    assert isinstance(found.said, list | dict)


def test_status_prints_one_line_per_mirror(item: Item) -> None:
    Odd.objects.create(code="a")
    head, *lines = run("status").out.splitlines()
    assert head.split() == ["mirror", "state", "rows", "pending", "oldest", "quarantined", "layout"]
    assert len(lines) == len(registry.all_mirrors())
    odd = next(line for line in lines if line.startswith("t'odd"))
    assert odd.split()[:4] == ["t'odd", "warm", "1", "1"]


def test_status_as_json_has_the_documented_names(item: Item) -> None:
    found = next(status for status in run("status", "--json").said if status["mirror"] == "titem")
    assert found["warm"] is True
    assert (found["rows"], found["pending"], found["quarantined"]) == (1, 0, 0)
    assert found["layout_version"] == registry.get("titem").version
    assert found["oldest_pending_seconds"] == 0.0


def test_status_prints_the_progress_of_an_interrupted_rebuild() -> None:
    Odd.objects.create(code="a")

    def stop(mirror: str, rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild.rebuild(["t'odd"], progress=stop)
    assert "cold, 1 rows rebuilt" in run("status").out


def test_rebuild_tells_of_rows_that_fail(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    codes = [Odd(code="a"), Odd(code="b")]
    Odd.objects.bulk_create(codes)

    def fail(row: Odd) -> None:
        raise ZeroDivisionError("too small")

    with monkeypatch.context() as patch:
        patch.setattr(registry.get("t'odd"), "record", fail)
        done = run("rebuild", "t'odd")
    assert done.code == 1
    assert done.out == "t'odd: 2 rows, 0 strays removed, 2 failed, and the relay tries again\n"
    [logged] = [each for each in caplog.records if each.levelname == "ERROR"]
    assert logged.getMessage() == "The row a of t'odd cannot be mirrored: ZeroDivisionError: too small"
    drain_all()
    assert run("rebuild", "t'odd").out == "t'odd: 2 rows, 0 strays removed\n"


def test_rebuild_prints_the_numbers_of_rows_and_strays(redis: Redis) -> None:
    Item.objects.create(name="a")
    redis.set("titem:999", "{}")
    assert run("rebuild", "titem", "t'odd").out == "titem: 1 row, 1 stray removed\nt'odd: 0 rows, 0 strays removed\n"
    assert run("rebuild", "titem", "--json").said == [
        {"mirror": "titem", "rows": 1, "strays": 0, "failed": 0, "skipped": False, "waits": [], "faults": []}
    ]


def test_rebuild_skips_a_mirror_that_another_process_rebuilds(redis: Redis) -> None:
    redis.set("mirror:lease:rebuild:t'odd", "them")
    assert run("rebuild", "t'odd").out == "t'odd: another process is rebuilding it\n"


def test_verify_lists_differences_and_exits_with_1(spoilt: None) -> None:
    found = run("verify", "titem")
    assert found.code == 1
    assert found.out.splitlines() == [
        f"titem 7: missing {'titems:score'} 7: SQL has 2.0, Redis has nothing",
        f"titem 9: stray {'{tlabel}:red'} 9: SQL has nothing, Redis has present",
        "2 differences",
    ]


def test_verify_as_json_has_all_fields_of_a_difference(spoilt: None) -> None:
    found = run("verify", "titem", "--json")
    assert found.code == 1
    assert found.said[1] == {
        "mirror": "titem",
        "pk": "9",
        "kind": "stray",
        "key": "{tlabel}:red",
        "entry": ["{tlabel}:red", "9"],
        "expected": None,
        "found": "",
    }


def test_verify_of_a_sample_finds_no_strays(spoilt: None) -> None:
    assert run("verify", "titem", "--sample", "5").out.endswith("\n1 difference\n")


def test_repair_removes_all_differences(spoilt: None, redis: Redis) -> None:
    found = run("repair", "titem")
    assert found.code == 0
    assert found.out.splitlines()[-2:] == ["2 differences", "2 rows repaired"]
    assert world.dump(redis) == world.by_orm()


def test_repair_as_json_lists_the_differences(spoilt: None, redis: Redis) -> None:
    found = run("repair", "titem", "--json")
    assert (found.code, len(found.said)) == (0, 2)
    assert world.dump(redis) == world.by_orm()


def test_repair_dry_run_changes_nothing_and_exits_with_1(spoilt: None, redis: Redis) -> None:
    before = world.dump(redis)
    found = run("repair", "titem", "--dry-run")
    assert found.code == 1
    assert found.out.endswith("2 differences\n")
    assert world.dump(redis) == before
    assert not Change.objects.pending().exists()


def test_repair_refuses_more_than_max_removals(spoilt: None, redis: Redis) -> None:
    before = world.dump(redis)
    found = run("repair", "titem", "--max-removals", "0")
    assert found.code == 2
    assert "--max-removals" in found.err
    assert world.dump(redis) == before


def test_repair_reports_rows_that_it_could_not_repair(spoilt: None, monkeypatch: pytest.MonkeyPatch) -> None:
    drain = apply.drain

    def fails_for_seven(mirror: Any, pks: list[str], **options: Any) -> Any:
        if "7" in pks:
            raise ZeroDivisionError
        return drain(mirror, pks, **options)

    monkeypatch.setattr(apply, "drain", fails_for_seven)
    found = run("repair", "titem")
    assert found.code == 1
    assert found.out.endswith("1 row repaired\n")
    assert "1 row could not be repaired" in found.err


def test_drain_applies_pending_changes(item: Item) -> None:
    Odd.objects.bulk_create([Odd(code="a"), Odd(code="b")])
    assert run("drain").out == "2 changes applied, 0 pending\n"
    assert run("drain", "--json").said == {"applied": 0, "pending": 0, "quarantined": 0}


def test_drain_exits_with_1_while_changes_are_pending(item: Item, monkeypatch: pytest.MonkeyPatch) -> None:
    Odd.objects.create(code="a")
    monkeypatch.setattr(registry.get("t'odd"), "record", None)
    assert run("drain")[:2] == (1, "0 changes applied, 1 pending\n")


def test_drain_and_verify_name_the_mirrors_that_a_change_of_everything_made_cold(item: Item, redis: Redis) -> None:
    rebuilt = "cold, so SQL answers until the relay or `manage.py mirror rebuild` has rebuilt them: titem\n"
    Change.objects.create(mirror="titem", key=WHOLE)
    drained = run("drain", "--json")
    assert (drained.code, drained.err) == (0, rebuilt)
    redis.zrem("titems:score", 7)
    found = run("verify", "titem")
    assert (found.code, found.err) == (1, rebuilt)
    assert run("rebuild", "titem").err == ""
    assert run("verify", "titem") == (0, "0 differences\n", "")


def test_explain_compares_every_entry_and_exits_with_1_on_a_difference(spoilt: None) -> None:
    found = run("explain", "mirrortest.Item", "7")
    assert found.code == 1
    assert f"  ! {'titems:score'} 7  SQL: 2.0  Redis: nothing" in found.out.splitlines()
    assert f"  = {'{tlabel}:red'} 7  SQL: present  Redis: present" in found.out.splitlines()
    assert run("explain", "titem", "7", "--json").said[0]["mirror"] == "titem"


def test_explain_lists_pending_changes(item: Item) -> None:
    item.score += 1
    item.save()
    pending = Change.objects.pending().get(mirror="titem").pk
    assert f"  pending changes: {pending}" in run("explain", "titem", "7").out
