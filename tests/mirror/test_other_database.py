"""Mirrored tables in a second database: their writes are not captured, so a system check refuses them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection, connections
from pytest_django.fixtures import Settings

from mirror import registry
from mirror.doctor import examine
from mirror.models import Change
from mirror.relay import drains
from tests.projects.mirrortest.models import Group, Item

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("sqlite")]
LABEL = Item._meta.label


class Nowhere:
    """A router that keeps every model out of the second database."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return False if db == "other" else None


class Elsewhere(Nowhere):
    """A router that writes items into the second database although it refuses their migration."""

    def db_for_write(self, model: type, **hints: Any) -> str | None:
        return "other" if model is Item else None


class Narrow:
    """A router that allows nothing but the app with the mirrored models in the mirrored database."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return app_label == Item._meta.app_label if db == "default" else None


def declare(patch: pytest.MonkeyPatch, **values: Any) -> None:
    """Configure the alias "other"."""
    patch.setitem(
        connections.settings, "other", connections.configure_settings({"default": {}, "other": values})["other"]
    )


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch
        connections["other"].close()
        del connections["other"]


@pytest.fixture
def other(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """Create a second database with the tables of items and groups."""
    declare(patch, ENGINE="django.db.backends.sqlite3", NAME=str(tmp_path / "other.sqlite3"))
    with connections["other"].schema_editor() as editor:
        editor.create_model(Group)
        editor.create_model(Item)


def found() -> list[CheckMessage]:
    return [message for message in run_checks() if message.id == "mirror.E013"]


def test_write_that_no_trigger_captures_is_announced_by_a_check(other: None) -> None:
    Item.objects.using("other").create(name="elsewhere")
    assert not Change.objects.exists()
    [error] = found()
    assert "'other'" in error.msg
    assert LABEL in error.msg
    assert "allow_migrate" in str(error.hint)
    assert "'MIRROR': 'default'" in str(error.hint)


def test_router_that_refuses_the_models_satisfies_the_check(other: None, settings: Settings) -> None:
    settings.DATABASE_ROUTERS = [Nowhere()]
    assert found() == []


def test_router_that_writes_there_is_reported(other: None, settings: Settings) -> None:
    settings.DATABASE_ROUTERS = [Elsewhere()]
    [error] = found()
    assert error.msg.endswith(f": {LABEL}.")


def test_declared_replica_is_permitted(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    declare(patch, ENGINE="django.db.backends.sqlite3", NAME=str(tmp_path / "replica"), TEST={"MIRROR": "default"})
    assert found() == []


def test_second_alias_of_the_same_database_is_permitted_and_captured(patch: pytest.MonkeyPatch) -> None:
    declare(patch, **connection.settings_dict)
    assert found() == []
    item = Item.objects.using("other").create(name="a")
    assert Change.objects.filter(mirror="titem", key=str(item.pk)).exists()
    drains.drain_all()


def test_databases_in_memory_are_never_the_same(patch: pytest.MonkeyPatch) -> None:
    declare(patch, ENGINE=connection.settings_dict["ENGINE"], NAME=":memory:")
    patch.setitem(connection.settings_dict, "NAME", ":memory:")
    assert len(found()) == 1


def test_router_that_refuses_the_outbox_is_named_in_place_of_consequences(settings: Settings) -> None:
    settings.DATABASE_ROUTERS = [Narrow()]
    messages = [message for message in run_checks(databases=["default"]) if str(message.id).startswith("mirror.")]
    assert [message.id for message in messages] == ["mirror.E050"]
    assert Change._meta.db_table in messages[0].msg
    assert "'mirror'" in str(messages[0].hint)
    with pytest.raises(SystemCheckError, match=r"mirror\.E050"):
        call_command("migrate", database="default", skip_checks=False, verbosity=0)
    assert [message.id for message in examine() if message.is_serious()] == ["mirror.E050"]


def test_router_that_refuses_another_app_gives_no_message(settings: Settings) -> None:
    class Other:
        def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
            return False if app_label == "auth" else None

    settings.DATABASE_ROUTERS = [Other()]
    assert not [message for message in run_checks() if message.id == "mirror.E050"]


def test_router_that_sends_reads_of_written_methods_to_a_replica_is_reported(
    tmp_path: Path, patch: pytest.MonkeyPatch, settings: Settings
) -> None:
    class Replica(Nowhere):
        def db_for_read(self, model: type, **hints: Any) -> str | None:
            return "other"

    def find_warned() -> set[Any]:
        return {message.obj for message in run_checks() if message.id == "mirror.W054"}

    written = {type(mirror) for mirror in registry.all_mirrors() if not mirror.layout or not mirror.layout.fields}
    declare(patch, ENGINE="django.db.backends.sqlite3", NAME=str(tmp_path / "replica"), TEST={"MIRROR": "default"})
    assert find_warned() == set()
    settings.DATABASE_ROUTERS = [Replica()]
    assert written
    assert written <= find_warned()
    patch.setitem(connections.settings, "other", connections.settings["default"])
    del connections["other"]
    assert find_warned() == set()
