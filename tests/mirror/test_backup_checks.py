"""System checks report an invalid backup declaration, with a hint."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from mirror.backup import Backup, register, registry
from tests.support.mirror.app.backups import BestBackup


@pytest.fixture(autouse=True)
def own_backups() -> Iterator[None]:
    """Remove the test's registrations after it."""
    backups, refused = dict(registry._backups), list(registry._refused)
    yield
    registry._backups.clear()
    registry._backups.update(backups)
    registry._refused[:] = refused


def said() -> list[CheckMessage]:
    found = [m for m in run_checks() if str(m.id) in {f"mirror.E0{number}" for number in (13, 14, 15, 16)}]
    assert all(message.hint for message in found)
    return found


def declared(base: type[Backup] = BestBackup, **attributes: Any) -> CheckMessage:
    register(type("Bad", (base,), {"name": "bad", **attributes}))
    [message] = said()
    return message


def test_valid_declaration_gives_no_message() -> None:
    register(type("Sound", (BestBackup,), {"name": "sound"}))
    assert said() == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("", "has no name"), (None, "has no name"), ("tbest", "is called 'tbest', and so is BestBackup")],
)
def test_declaration_needs_a_unique_name(name: object, words: str) -> None:
    message = declared(name=name)
    assert message.id == "mirror.E013"
    assert message.msg.endswith(f"Bad {words}.")


def test_declaration_without_attributes_is_reported() -> None:
    register(type("Bad", (Backup,), {}))
    assert [message.id for message in said()] == ["mirror.E013"]


def test_name_longer_than_its_column_is_reported() -> None:
    assert declared(name="x" * 65).id == "mirror.E014"


def test_missing_methods_are_named() -> None:
    message = declared(Backup)
    assert message.id == "mirror.E015"
    assert "save(), load(), put_back(), items_after(), scan(), ask(), said()." in message.msg


@pytest.mark.parametrize("half", ["ask", "said"])
def test_ask_without_said_and_said_without_ask_are_reported(half: str) -> None:
    message = declared(**{half: getattr(Backup, half)})
    assert message.msg == f"Backup 'bad' does not define {half}()."


def test_own_read_method_replaces_ask_and_said() -> None:
    register(type("Own", (BestBackup,), {"name": "own", "ask": Backup.ask, "said": Backup.said, "read": lambda *a: {}}))
    assert said() == []


def test_backup_that_recognizes_strays_must_implement_drop() -> None:
    assert declared(drop=Backup.drop).id == "mirror.E015"


@pytest.mark.parametrize("seconds", [0, -1, "1", None, True])
def test_every_seconds_must_be_a_positive_number(seconds: object) -> None:
    assert declared(every_seconds=seconds).id == "mirror.E016"


def test_error_for_an_unknown_backup_lists_the_known_ones() -> None:
    with pytest.raises(registry.UnknownBackup, match=r"'nonsense'.*tbasket, tbest"):
        registry.get("nonsense")
