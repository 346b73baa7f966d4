"""Two versions of the code run side by side, and only the one that ``migrate`` recorded maintains a mirror."""

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import call_command
from redis import Redis

from mirror import Mirror, Watch, checks, register, registry
from mirror.capture import layouts
from mirror.declare.sources import digest_methods
from mirror.models import Change, State
from mirror.outbox.changes import OutdatedLayout
from mirror.read.reads import read
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay import apply, drains
from mirror.upkeep import rebuild, sweeper
from mirror.warm import marker, triggers
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Group
from tests.support import warm_mirrors
from tests.support.mirror import world
from tests.support.mirror.items import make

pytestmark = pytest.mark.also_on("cluster")


@pytest.fixture(autouse=True)
def recorded(committed: None, no_hints: None) -> None:
    """Record the layouts of this process, as ``migrate`` does, and begin with warm mirrors."""
    layouts.record("default")
    triggers.forget()
    warm_mirrors.rebuild(warm_mirrors.ALL)


@contextmanager
def other_code(name: str = "titem") -> Iterator[None]:
    """Run the block with another layout of a mirror, like a process of older or newer code."""
    mirror = registry.get(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mirror, "version", "older")
        triggers.forget()
        yield
    triggers.forget()


def test_other_code_neither_drains_nor_rebuilds_and_keeps_changes_pending(redis: Redis) -> None:
    item = make("a", "red")
    before = world.dump(redis)
    with other_code():
        assert drains.drain_keys("titem", [str(item.pk)]) == (0, [])
        drains.drain_all()
        assert Change.objects.pending().filter(mirror="titem").exists()
        [result] = rebuild.rebuild(["titem"])
        assert (result.skipped, result.faults) == (True, (layouts.REASON,))
        with pytest.raises(OutdatedLayout, match="has the layout older"):
            apply.drain(registry.get("titem"), [str(item.pk)])
        assert not {
            key for key in world.dump(redis).keys() - before.keys() if key.startswith(("titem:", "titems:score"))
        }
        assert set(Change.objects.filter(mirror="titem").values_list("attempts", flat=True)) == {0}
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_other_code_reads_sql_while_the_present_one_stays_warm(redis: Redis) -> None:
    item = make("a")
    drains.drain_all()
    with other_code():
        sweeper.sweep()
        assert read(["titem"], lambda pipe: pipe.get(f"titem:{item.pk}")) is None
        assert (found := ItemMirror.get(item.pk)) is not None
        assert found["name"] == "a"
    assert marker.is_warm(relay_client(), "titem")
    with record() as seen:
        assert ItemMirror.get(item.pk) == found
    assert not seen.sql


@pytest.mark.only_on("single")  # its own write breaks a WATCH, and a cluster has fences
def test_drain_that_began_before_migrate_writes_nothing_after_it(redis: Redis) -> None:
    item = make("a")
    with other_code():
        layouts.record("default")

        def migrate(at: str) -> None:
            if at == "write" and State.objects.get(mirror="titem").layout == "older":
                State.objects.filter(mirror="titem").update(layout="newer")
                redis.set(f"titem:{item.pk}", '{"layout": "newer"}')  # the rebuild by newer code

        with pytest.raises(OutdatedLayout, match="newer is in use"):
            apply.drain(registry.get("titem"), [str(item.pk)], step=migrate)
    assert redis.get(f"titem:{item.pk}") == b'{"layout": "newer"}'


def test_changes_of_a_mirror_that_only_newer_code_has_are_kept() -> None:
    State.objects.create(mirror="future", layout="1")
    Change.objects.create(mirror="future", key="1")
    Change.objects.create(mirror="future", key="2", source="some_table")
    Change.objects.create(mirror="gone", key="1")
    drains.drain_all()
    assert set(Change.objects.pending().values_list("mirror", flat=True)) == {"future"}


def test_other_code_does_not_judge_triggers(monkeypatch: pytest.MonkeyPatch, redis: Redis) -> None:
    with other_code():
        monkeypatch.setattr(registry.get("titem"), "watches", ())  # its triggers would be different ones
        assert triggers.check(relay_client()) == triggers.reasons()
        assert triggers.check(relay_client())["titem"] == (layouts.REASON,)
    assert marker.is_warm(relay_client(), "titem")


def test_process_with_a_removed_mirror_and_another_layout_reads_sql_and_does_not_rebuild(redis: Redis) -> None:
    State.objects.filter(mirror="tgroup").update(layout="")
    with other_code("titem"):
        sweeper.sweep()
        assert not marker.is_warm(relay_client(), "tgroup")
        assert triggers.reasons()["tgroup"] == (layouts.REASON_UNRECORDED,)
        [result] = rebuild.rebuild(["tgroup"])
        assert (result.skipped, result.faults) == (True, (layouts.REASON_UNRECORDED,))
    assert marker.is_warm(relay_client(), "titem")


def test_relay_makes_removed_mirrors_cold_for_processes_of_older_code(redis: Redis) -> None:
    State.objects.create(mirror="gone", layout="")
    redis.set(naming.marker("gone"), "warm")
    triggers.forget()
    sweeper.sweep()
    assert not redis.exists(naming.marker("gone"))


def test_migrate_records_layouts_and_forgets_removed_mirrors() -> None:
    State.objects.update(layout="")
    State.objects.create(mirror="gone", layout="1")
    call_command("migrate", verbosity=0)
    found = dict(State.objects.exclude(layout="").values_list("mirror", "layout"))
    assert found == {mirror.name: str(mirror.version) for mirror in registry.all_mirrors()}
    assert layouts.find_outdated() == {}


class Shelf(Mirror):
    """A declaration with methods of its own."""

    name = "tshelf"
    model = Group
    key = "tshelf:{pk}"
    watches = [Watch(Group)]

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        return {}

    def record(self, row: Any) -> dict[str, Any]:
        return {"name": row}


class CommentedShelf(Shelf):
    def record(self, row: Any) -> dict[str, Any]:
        """Return the record."""
        # a comment, and another layout of the source
        return {
            "name": row
        }  # fmt: skip


class ChangedShelf(Shelf):
    def record(self, row: Any) -> dict[str, Any]:
        return {"title": row}


class NextShelf(ChangedShelf):
    version = 2


def reminders() -> list[str]:
    return [m.msg for m in checks.check_methods(databases=["default"])]


@pytest.mark.parametrize(
    ("declaration", "is_reminded"), [(Shelf, False), (CommentedShelf, False), (ChangedShelf, True), (NextShelf, False)]
)
def test_changed_methods_without_a_new_version_are_reported_until_migrate(
    declaration: type[Mirror], is_reminded: bool, own_registry: None
) -> None:
    register(Shelf)
    layouts.record("default")
    registry.unregister("tshelf")
    register(declaration)
    expected = ["The methods of mirror 'tshelf' have changed since the last migrate, but its version has not."]
    assert reminders() == (expected if is_reminded else [])
    layouts.record("default")
    assert reminders() == []


def test_migrate_shows_the_reminder_before_it_records_the_methods(
    own_registry: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["manage.py", "migrate"])
    register(Shelf)
    layouts.record("default")
    registry.unregister("tshelf")
    register(ChangedShelf)
    errors = io.StringIO()
    call_command("migrate", verbosity=0, skip_checks=False, stderr=errors)
    assert "(mirror.W014)" in errors.getvalue()
    assert reminders() == []


def test_declaration_without_methods_has_no_digest() -> None:
    assert digest_methods(Mirror()) == ""
    assert digest_methods(registry.get("latest"))


def test_mirrors_recorded_by_earlier_code_are_not_reported() -> None:
    State.objects.update(methods="")
    assert reminders() == []
