"""A mirror is cold while one of its triggers is lost, names the trigger, and is rebuilt when the trigger is back."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from redis import Redis

from mirror import status
from mirror.capture import install
from mirror.models import Change, Identity
from mirror.read.reads import read
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay import drains, send
from mirror.upkeep import rebuild, sweeper
from mirror.warm import marker, triggers
from tests.projects.mirrortest.models import Item, Reading
from tests.support.mirror import world
from tests.support.mirror.command import run as run_command
from tests.support.mirror.outbox import orders, run
from tests.support.timings import Timings

pytestmark = [pytest.mark.usefixtures("committed", "no_hints", "reinstalled"), pytest.mark.also_on("sqlite", "cluster")]

ITEM = Item._meta.db_table
TRIGGER = f"mirror_{ITEM}_update"
OURS = {"titem", "tgroup", "latest"}  # the mirrors that watch the table of items


@pytest.fixture
def reinstalled(committed: None) -> Any:
    """Install all triggers after the test."""
    yield
    install.install()


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the mirrors whose rebuild the sweep requests."""
    found: list[str] = []
    monkeypatch.setattr(send, "rebuild", found.append)
    return found


@pytest.fixture
def at_rest(reinstalled: None, asked: list[str]) -> None:
    """Make every mirror warm and save the stamps of its triggers."""
    world.warm()
    sweeper.sweep()
    assert asked == []


def lose(table: str = ITEM, operation: str = "update") -> list[str]:
    """Drop a trigger. Return the SQL that creates exactly the same one again."""
    found = install.capture_for()
    definition = found.found()[f"mirror_{table}_{operation}"]
    on = f" ON {table}" if connection.vendor == "postgresql" else ""
    run(f"DROP TRIGGER {definition.name}{on}")
    return found.create(definition)


def is_warm(name: str) -> bool:
    return marker.is_warm(relay_client(), name)


def faults(name: str) -> tuple[str, ...]:
    return next(found for found in status.statuses() if found.mirror == name).faults


@pytest.mark.usefixtures("at_rest")
def test_mirror_is_cold_while_a_trigger_is_missing_and_rebuilt_afterwards(asked: list[str]) -> None:
    again = lose()
    sweeper.sweep()
    assert not {name for name in OURS if is_warm(name)}
    assert read(["titem"], lambda pipe: pipe.get("x")) is None
    assert OURS.isdisjoint(asked)  # a rebuild would miss changes
    item = Item.objects.create(name="before")
    Item.objects.update(name="missed")
    run(*again)
    world.rest()
    assert is_warm("titem")
    found = read(["titem"], lambda pipe: pipe.get(f"titem:{item.pk}"))
    assert found is not None
    assert b"missed" in found.replies[0]


@pytest.mark.usefixtures("at_rest")
def test_status_names_the_missing_trigger_before_any_sweep() -> None:
    lose()
    found = {s.mirror: s for s in status.statuses()}
    assert {name for name, s in found.items() if s.faults} == OURS
    assert found["titem"].faults == (f"missing: update on {ITEM}",)
    assert found["titem"].warm is False
    # Below the table, whose columns it would widen.
    assert f"  titem: cold: missing: update on {ITEM}" in run_command("status").out.splitlines()


@pytest.mark.usefixtures("at_rest")
def test_the_first_check_of_a_process_reads_the_triggers_and_the_tables_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, calls = type(install.capture_for()), list[str]()

    def count(name: str) -> None:
        method = getattr(kind, name)

        def counted(*args: Any) -> Any:
            calls.append(name)
            return method(*args)

        monkeypatch.setattr(kind, name, counted)

    count("found")
    count("relations")
    triggers.forget()
    assert triggers.check(relay_client()) == {}
    assert sorted(calls) == ["found", "relations"]


@pytest.mark.usefixtures("at_rest")
def test_trigger_recreated_between_two_checks_causes_a_rebuild(redis: Redis) -> None:
    item = Item.objects.create(name="before")
    drains.drain_all()
    again = lose()
    Item.objects.update(name="missed")
    run(*again)
    assert install.missing() == []
    triggers.check(relay_client())
    assert not is_warm("titem")
    world.rest()
    assert is_warm("titem")
    assert b"missed" in redis.get(f"titem:{item.pk}")  # type: ignore[operator]


@pytest.mark.usefixtures("at_rest")
def test_lost_trigger_causes_one_rebuild(redis: Redis) -> None:
    run(*lose())
    world.rest()
    generation = redis.get(naming.marker("titem"))
    triggers.forget()
    world.rest()
    assert redis.get(naming.marker("titem")) == generation


@pytest.mark.usefixtures("at_rest")
def test_order_to_rebuild_survives_a_process_killed_before_it_cools_the_mirror(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(*lose())
    monkeypatch.setattr("mirror.warm.cold.make_all_cold", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        triggers.check(relay_client())
    monkeypatch.undo()
    assert set(orders()) >= OURS
    triggers.forget()
    world.rest()
    assert is_warm("titem")


@pytest.mark.only_on("postgres")
@pytest.mark.usefixtures("at_rest")
@pytest.mark.parametrize("how", ["DISABLE TRIGGER", "ENABLE REPLICA TRIGGER"])
def test_disabled_trigger_counts_as_lost(how: str, asked: list[str]) -> None:
    run(f"ALTER TABLE {ITEM} {how} {TRIGGER}")
    sweeper.sweep()
    assert not is_warm("titem")
    assert faults("titem") == (f"out of date: update on {ITEM}",)
    assert is_warm("tfollow")
    run(f"ALTER TABLE {ITEM} ENABLE TRIGGER {TRIGGER}")
    world.rest()
    assert is_warm("titem")
    assert install.missing() == []  # the trigger is enabled for replicated writes as well


@pytest.mark.only_on("postgres")
@pytest.mark.usefixtures("at_rest")
def test_trigger_disabled_between_two_checks_causes_a_rebuild() -> None:
    run(f"ALTER TABLE {ITEM} DISABLE TRIGGER {TRIGGER}", f"ALTER TABLE {ITEM} ENABLE ALWAYS TRIGGER {TRIGGER}")
    triggers.check(relay_client())
    assert {name for name in OURS if is_warm(name)} == set()
    assert is_warm("tfollow")


@pytest.mark.only_on("postgres")
@pytest.mark.usefixtures("at_rest")
def test_function_replaced_between_two_checks_causes_a_rebuild() -> None:
    run(f"ALTER FUNCTION {TRIGGER}() RESET search_path")
    run(f"ALTER FUNCTION {TRIGGER}() SET search_path = pg_catalog, pg_temp")
    assert install.missing() == []
    triggers.check(relay_client())
    assert not is_warm("titem")


@pytest.mark.only_on("postgres")
def test_replicated_writes_are_captured() -> None:
    install.uninstall()
    install.install()
    Item.objects.create(name="a")
    Change.objects.all().delete()
    run("SET session_replication_role = replica")
    try:
        Item.objects.update(name="replicated")
        Item.objects.all()._raw_delete("default")
    finally:
        run("RESET session_replication_role")
    assert Change.objects.filter(mirror="titem").count() == 2


@pytest.mark.usefixtures("at_rest")
def test_mirrors_after_a_blocked_one_are_cold() -> None:
    lose(Reading._meta.db_table, "insert")
    sweeper.sweep()
    assert not is_warm("treading")
    assert not is_warm("tfeed")
    assert faults("tfeed") == faults("treading") != ()


@pytest.mark.usefixtures("at_rest")
def test_rebuild_is_refused_while_a_trigger_is_missing() -> None:
    again = lose()
    [done] = rebuild.rebuild(["titem"])
    assert done.skipped
    assert done.faults == (f"missing: update on {ITEM}",)
    ran = run_command("rebuild", "titem", "tfollow")
    assert ran.code == 1
    assert f"titem: not rebuilt, because changes are not captured (missing: update on {ITEM})" in ran.out
    assert rebuild.rebuild_if_cold("titem") == 0
    assert not is_warm("titem")
    run(*again)
    assert run_command("rebuild", "titem").code == 0
    assert is_warm("titem")


@pytest.mark.usefixtures("at_rest")
def test_rebuild_does_not_end_warm_if_a_trigger_was_lost_meanwhile() -> None:
    Item.objects.create(name="a")

    def lose_now(name: str, rows: int) -> None:
        if TRIGGER in install.capture_for().stamps() and not triggers.reasons():
            lose()
            triggers.check(relay_client())

    [done] = rebuild.rebuild(["titem"], progress=lose_now)
    assert done.faults == (f"missing: update on {ITEM}",)
    assert not is_warm("titem")


@pytest.mark.usefixtures("at_rest")
def test_migrate_without_changes_keeps_the_mirrors_warm(asked: list[str]) -> None:
    call_command("migrate", verbosity=0)
    triggers.forget()
    sweeper.sweep()
    assert orders() == []
    assert asked == []


@pytest.mark.usefixtures("at_rest")
def test_migrate_does_not_hide_an_earlier_loss() -> None:
    run(*lose())
    call_command("migrate", verbosity=0)
    triggers.check(relay_client())
    assert not is_warm("titem")


@pytest.mark.usefixtures("at_rest")
def test_installed_triggers_cause_one_rebuild() -> None:
    lose()
    triggers.check(relay_client())
    call_command("migrate", verbosity=0)
    world.rest()
    assert is_warm("titem")
    Change.objects.all().delete()
    triggers.forget()
    triggers.check(relay_client())
    assert orders() == []


@pytest.mark.usefixtures("at_rest")
def test_check_of_unchanged_triggers_takes_two_queries() -> None:
    with record() as seen:
        assert triggers.check(relay_client()) == {}
    assert (len(seen.sql), seen.round_trips) == (2, 0)


@pytest.mark.usefixtures("at_rest")
def test_process_checks_triggers_once_per_interval(timings: Timings) -> None:
    timings(TRIGGER_CHECK_SECONDS=3600.0)
    with record() as seen:
        triggers.watch(relay_client())
        triggers.watch(relay_client())
    assert len(seen.sql) <= 1


def test_database_without_stamps_orders_no_rebuild() -> None:
    triggers.check(relay_client())
    assert orders() == []
    known = Identity.objects.get(pk=1).triggers
    assert known == install.capture_for().stamps()
