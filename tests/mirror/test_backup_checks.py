"""A backup that cannot work is an error of the system checks, with a hint."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from mirror.backup import Backup, register, registry
from tests.support.mirror.app.backups import BestBackup


@pytest.fixture(autouse=True)
def own_backups() -> Iterator[None]:
    """What a test registers is forgotten after it."""
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


def test_sound_declarations_give_no_message() -> None:
    register(type("Sound", (BestBackup,), {"name": "sound"}))
    assert said() == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("", "has no name"), (None, "has no name"), ("tbest", "is called 'tbest', and so is BestBackup")],
)
def test_a_declaration_needs_a_name_of_its_own(name: object, words: str) -> None:
    message = declared(name=name)
    assert message.id == "mirror.E013"
    assert message.msg.endswith(f"Bad {words}.")


def test_a_declaration_without_any_attribute_is_named() -> None:
    register(type("Bad", (Backup,), {}))
    assert [message.id for message in said()] == ["mirror.E013"]


def test_a_name_that_does_not_fit_its_row_is_too_long() -> None:
    assert declared(name="x" * 65).id == "mirror.E014"


def test_what_it_does_not_say_is_named() -> None:
    message = declared(Backup)
    assert message.id == "mirror.E015"
    assert "save(), load(), put_back(), items_after(), scan(), ask(), said()." in message.msg


@pytest.mark.parametrize("half", ["ask", "said"])
def test_half_of_how_redis_is_read_is_not_enough(half: str) -> None:
    message = declared(**{half: getattr(Backup, half)})
    assert message.msg == f"Backup 'bad' does not say {half}()."


def test_to_read_in_its_own_way_is_enough() -> None:
    register(type("Own", (BestBackup,), {"name": "own", "ask": Backup.ask, "said": Backup.said, "read": lambda *a: {}}))
    assert said() == []


def test_who_can_tell_strays_has_to_be_able_to_drop_them() -> None:
    assert declared(drop=Backup.drop).id == "mirror.E015"


@pytest.mark.parametrize("seconds", [0, -1, "1", None, True])
def test_how_often_is_a_number_of_seconds(seconds: object) -> None:
    assert declared(every_seconds=seconds).id == "mirror.E016"


def test_an_unknown_backup_is_named_with_those_there_are() -> None:
    with pytest.raises(registry.UnknownBackup, match=r"'nonsense'.*tbasket, tbest"):
        registry.get("nonsense")
