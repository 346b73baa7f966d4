"""Errors of ``manage.py mirror`` are one line without a traceback and exit with 2; the help texts."""

import pytest
from django.core.management import call_command, load_command_class
from redis import Redis

from mirror.management.commands.mirror import Command
from mirror.redis.clients import client
from mirror.upkeep import rebuild
from mirror.verify import runs
from tests.projects.mirrortest.models import Item, Label, Odd
from tests.support.mirror import world
from tests.support.mirror.command import ACTIONS, from_shell, run
from tests.support.mirror.outbox import run as execute
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


@pytest.fixture
def item() -> Item:
    """Create an item in warm mirrors."""
    item = Item.objects.create(pk=7, name="a", score=2)
    item.labels.add(Label.objects.create(name="red"))
    world.warm_own()
    return item


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["verify", "nothing"], "there are: "),
        (["rebuild", "titem", "nothing"], "'nothing'"),
        (["repair", "nothing"], "titem"),
        (["explain", "shoes", "1"], "mirrortest.Item"),
        (["explain", "item", "x"], "'x'"),
        (["explain", "item", "9" * 40], "cannot be the key"),
        (["verify", "--sample", "-1"], "--sample"),
        (["verify", "--sample", "0"], "--sample"),
        (["repair", "--max-removals", "-1"], "--max-removals"),
    ],
)
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_invalid_arguments_give_one_line_and_exit_with_2(arguments: list[str], text: str, json: list[str]) -> None:
    found = run(*arguments, *json)
    assert (found.code, found.out) == (2, "")
    assert text in found.err
    assert found.err.count("\n") == 1


@pytest.mark.parametrize("action", [a for a in ACTIONS if a not in ("status", "doctor")])
def test_actions_report_in_one_line_that_redis_is_down(action: str, item: Item, redis_server: RedisServer) -> None:
    Odd.objects.create(code="a")
    redis_server.kill()
    found = run(action, *ACTIONS[action])
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("ConnectionError: ")
    assert found.err.count("\n") == 1


@pytest.mark.parametrize("action", ["status", "rebuild", "verify", "drain"])
def test_actions_before_migrate_say_what_to_run(action: str) -> None:
    execute("ALTER TABLE mirror_state RENAME TO mirror_moved")
    execute("ALTER TABLE mirror_change RENAME TO mirror_moved_change")
    try:
        found = run(action, *ACTIONS[action])
    finally:
        execute("ALTER TABLE mirror_moved RENAME TO mirror_state")
        execute("ALTER TABLE mirror_moved_change RENAME TO mirror_change")
    assert (found.code, found.out) == (2, "")
    assert found.err == "tables of the app mirror are missing: run `manage.py migrate` first\n"


def test_status_works_while_redis_is_down(redis_server: RedisServer) -> None:
    client().ping()
    redis_server.kill()
    found = run("status")
    assert found.code == 0
    assert "unknown" in found.out


def test_key_of_the_wrong_type_is_named(item: Item, redis: Redis) -> None:
    redis.delete("titems:score")
    redis.rpush("titems:score", "x")
    for action in ("verify", "repair", "rebuild"):
        found = run(action, "titem")
        assert (found.code, found.err.count("\n")) == (2, 1)
        assert "titems:score" in found.err


def test_unexpected_error_is_one_line_unless_a_traceback_is_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object, **options: object) -> None:
        raise ZeroDivisionError("of all\nthings")

    monkeypatch.setattr(runs, "verify", fails)
    assert run("verify") == (2, "", "ZeroDivisionError: of all things\n")
    with pytest.raises(ZeroDivisionError):
        call_command("mirror", "--traceback", "verify")


def test_interrupted_command_explains_how_to_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rebuild, "rebuild", stopped)
    assert run("rebuild") == (2, "", "stopped; run the command again to continue\n")


def test_unknown_action_is_answered_with_the_known_ones() -> None:
    found = from_shell("polish")
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert all(action in found.err for action in ACTIONS)


@pytest.mark.parametrize("arguments", [["verify", "--sample", "many"], ["drain", "--quickly"], ["explain", "item"]])
def test_argument_errors_are_one_line(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    parser = load_command_class("mirror", "mirror").create_parser("manage.py", "mirror")
    parser.called_from_command_line = True
    for action in parser._subparsers._group_actions[0].choices.values():
        action.called_from_command_line = True
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(arguments)
    assert capfd.readouterr().err.count("\n") == 1


def test_help_names_every_action(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        Command().create_parser("manage.py", "mirror").parse_args(["--help"])
    text = capsys.readouterr().out
    assert all(action in text for action in ACTIONS)


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_has_help(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        Command().create_parser("manage.py", "mirror").parse_args([action, "--help"])
    text = capsys.readouterr().out
    assert text.startswith(f"usage: manage.py mirror {action}")
    assert "--json" in text
