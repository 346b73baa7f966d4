"""Every command reports quarantined changes, and they are applied once their fault is gone."""

from collections.abc import Iterator
from typing import cast

import pytest
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.read.reads import read
from mirror.redis import naming
from mirror.relay import drains
from mirror.upkeep import heartbeat, rebuild
from mirror.verify import runs
from tests.projects.mirrortest.models import Group, Item
from tests.support.mirror.command import run
from tests.support.servers import wait_until

pytestmark = pytest.mark.also_on("cluster")


@pytest.fixture(autouse=True)
def fault(committed: None, no_hints: None) -> Iterator[pytest.MonkeyPatch]:
    """Make the mirror of items fail for items called "new". The test may undo this."""
    patch, mirror = pytest.MonkeyPatch(), registry.get("titem")
    record = mirror.record

    def fails(row: dict[str, object]) -> dict[str, object]:
        if row["name"] == "new":
            raise ValueError("this row cannot be mirrored")
        return record(row)

    patch.setattr(mirror, "record", fails)
    yield patch
    patch.undo()


@pytest.fixture(autouse=True)
def quarantined(fault: pytest.MonkeyPatch) -> None:
    """Give item 1 a quarantined change. Item 2 has none."""
    Item.objects.bulk_create([Item(pk=1, name="old"), Item(pk=2, name="other")])
    rebuild.rebuild(["titem", "tgroup"])
    drains.drain_all()
    Item.objects.filter(pk=1).update(name="new")
    give_up()
    assert Change.objects.quarantined().count() == 1


def give_up() -> None:
    """Drain until no change is pending: failing ones are quarantined."""
    while Change.objects.pending().exists():
        drains.drain_all()


def is_new(redis: Redis) -> bool:
    return b"new" in cast("bytes", redis.get(registry.get("titem").record_key("1")))


def test_verify_lists_quarantined_changes_with_their_errors() -> None:
    found = run("verify", "titem")
    assert found.code == 1
    assert "titem 1: quarantined: ValueError: this row cannot be mirrored" in found.out
    listed = run("verify", "titem", "--json").said
    assert [(d["mirror"], d["pk"], d["kind"]) for d in listed] == [("titem", "1", "quarantined")]
    assert run("verify", "tgroup").code == 0


def test_status_exits_with_1_while_a_change_is_quarantined(fault: pytest.MonkeyPatch) -> None:
    assert run("status").code == 1
    fault.undo()
    run("drain", "--retry")
    assert run("status").code == 0


def test_drain_retries_quarantined_changes_only_on_request(redis: Redis, fault: pytest.MonkeyPatch) -> None:
    fault.undo()
    done = run("drain")
    assert (done.code, done.out) == (
        0,
        "0 changes applied, 0 pending\n"
        "1 quarantined change was left out: `manage.py mirror drain --retry` tries it again\n",
    )
    assert run("drain", "--json").said == {"applied": 0, "pending": 0, "quarantined": 1}
    assert not is_new(redis)
    assert run("drain", "--retry")[:2] == (0, "1 change applied, 0 pending\n")
    assert is_new(redis)


def test_repair_applies_quarantined_changes(redis: Redis, fault: pytest.MonkeyPatch) -> None:
    assert run("repair", "titem").code == 1
    give_up()
    fault.undo()
    assert run("repair", "titem").code == 0
    assert is_new(redis)
    assert runs.verify(["titem"]) == []


def test_repair_dry_run_keeps_changes_quarantined(fault: pytest.MonkeyPatch) -> None:
    fault.undo()
    assert run("repair", "titem", "--dry-run").code == 1
    assert Change.objects.quarantined().count() == 1


def test_quarantined_change_of_a_source_is_repaired(redis: Redis, fault: pytest.MonkeyPatch) -> None:
    fault.undo()
    run("drain", "--retry")
    Change.objects.create(
        mirror="titem", source=Group._meta.db_table, key="5", quarantined_at="2026-01-01T00:00Z", error="KeyError: 5"
    )
    found = run("verify", "titem")
    assert found.code == 1
    assert f"titem {Group._meta.db_table}:5: quarantined: KeyError: 5" in found.out
    assert run("repair", "titem").code == 0
    assert not Change.objects.filter(applied_at=None).exists()


def test_starting_relay_retries_quarantined_changes(redis: Redis, fault: pytest.MonkeyPatch) -> None:
    fault.undo()
    pulse = heartbeat.Pulse()
    pulse.start()
    try:
        wait_until(lambda: not Change.objects.quarantined().exists(), "the retry")
    finally:
        pulse.stop()
        pulse.join()
    drains.drain_all()
    assert is_new(redis)


def test_quarantined_row_is_read_from_sql_until_it_is_applied(redis: Redis, fault: pytest.MonkeyPatch) -> None:
    def item(pk: str) -> object:
        return read(["titem"], lambda pipe: pipe.get(registry.get("titem").record_key(pk)))

    heartbeat.beat()
    assert redis.exists(naming.quarantined())
    assert (item("1") is None, item("2") is None) == (True, False)
    fault.undo()
    run("drain", "--retry")
    heartbeat.beat()
    assert item("1") is not None
