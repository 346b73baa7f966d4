"""The output and exit codes of ``manage.py backup``, as text and as JSON."""

import re
from typing import Any

import pytest
from redis import Redis

from mirror.management.commands.backup import Command
from tests.support.mirror import command
from tests.support.mirror.app.backups import BestBackup, best, play
from tests.support.mirror.app.models import Best
from tests.support.mirror.backup_world import marked, scores, scores_in, warm
from tests.support.mirror.command import Terminal
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed")
ACTIONS = ("status", "flush", "verify", "restore")


def run(*arguments: str, **options: Any) -> command.Ran:
    return command.run(*arguments, name="backup", **options)


@pytest.fixture
def spoilt(redis: Redis) -> None:
    """Create one item that Redis lacks and one that only Redis has."""
    Best.objects.create(player="alice", score=3)
    redis.zadd("tbest", {"nobody": 1})


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_exits_with_0_without_differences(action: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    run("flush")
    assert run(action, "tbest")[::2] == (0, "")
    found = run(action, "--json")
    assert (found.code, found.err) == (0, "")
    assert isinstance(found.said, list)


@pytest.mark.parametrize("action", ACTIONS)
def test_unknown_name_exits_with_2(action: str) -> None:
    found = run(action, "nonsense")
    assert (found.code, found.out) == (2, "")
    assert "there is no backup called 'nonsense'" in found.err


@pytest.mark.parametrize("action", ["flush", "verify", "restore"])
def test_actions_exit_with_2_and_one_line_while_redis_is_down(action: str, redis_server: RedisServer) -> None:
    redis_server.kill()
    found = run(action)
    assert (found.code, found.out) == (2, "")
    assert len(found.err.splitlines()) == 1


def test_status_prints_one_line_per_backup(redis: Redis) -> None:
    warm()
    play(redis, "alice", 3)
    head, line = run("status", "tbest").out.splitlines()
    assert head.split() == ["backup", "state", "marked", "oldest", "quarantined", "last", "flush"]
    assert line.split()[:3] == ["tbest", "warm", "1"]
    assert line.split()[-1] == "never"


def test_status_as_json_has_the_documented_names(redis: Redis) -> None:
    play(redis, "alice", 3)
    [found] = run("status", "tbest", "--json").said
    assert (found["backup"], found["warm"], found["marked"], found["set_aside"]) == ("tbest", False, 1, 0)
    assert found["oldest_mark_seconds"] >= 0
    assert found["last_flush"] is None


def test_status_prints_the_errors_of_quarantined_items(redis: Redis) -> None:
    play(redis, "alice", 666)
    run("flush")
    assert "tbest alice: IntegrityError" in run("status").out


def test_status_works_while_redis_is_down(redis_server: RedisServer) -> None:
    redis_server.kill()
    found = run("status", "tbest")
    assert found.code == 0
    assert found.out.splitlines()[1].split()[:5] == ["tbest", "unknown", "?", "?", "?"]


def test_flush_prints_the_number_of_written_items(redis: Redis) -> None:
    play(redis, "alice", 3)
    play(redis, "bob", 3)
    assert run("flush", "tbest").out == "tbest: 2 items written to SQL, 0 quarantined\n"
    assert run("flush", "tbest", "--json").said == [{"backup": "tbest", "items": 0, "aside": 0, "finished": True}]
    assert marked(redis, best()) == set()


def test_flush_exits_with_1_each_time_an_item_is_quarantined(redis: Redis) -> None:
    play(redis, "alice", 666)
    assert run("flush", "tbest")[:2] == (1, "tbest: 0 items written to SQL, 1 quarantined\n")
    assert run("flush", "tbest").code == 1


def test_verify_lists_differences_and_exits_with_1(spoilt: None) -> None:
    found = run("verify", "tbest")
    assert found.code == 1
    assert found.out.splitlines() == [
        "tbest alice: missing: SQL has 3, Redis has nothing",
        "tbest nobody: stray: SQL has nothing, Redis has 1",
        "2 differences",
    ]
    assert run("verify", "tbest", "--json").said[0] == {
        "backup": "tbest", "item": "alice", "kind": "missing", "sql": "3", "redis": None,
    }  # fmt: skip


def test_restore_repairs_differences(spoilt: None, redis: Redis) -> None:
    redis.zadd("tbest", {"unmarked": 7})
    found = run("restore", "tbest")
    assert found.code == 0
    assert found.out.splitlines()[0] == "tbest: 1 item checked"
    assert found.out.splitlines()[-1] == "2 differences"
    assert scores() == scores_in(redis) == {"alice": 3, "unmarked": 7}
    assert run("restore", "tbest", "--json").said == [{"backup": "tbest", "items": 2, "done": True, "put_right": 0}]


def test_restore_dry_run_changes_nothing_and_exits_with_1(spoilt: None, redis: Redis) -> None:
    found = run("restore", "tbest", "--dry-run")
    assert found.code == 1
    assert found.out.endswith("2 differences\n")
    assert scores_in(redis) == {"nobody": 1}


def test_restore_lists_items_that_it_could_not_repair(spoilt: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BestBackup, "drop", lambda *args: None)
    found = run("restore", "tbest")
    assert found.code == 1
    assert found.err.splitlines() == [
        "tbest nobody: stray: SQL has nothing, Redis has 1",
        "1 item could not be repaired",
    ]


@pytest.mark.parametrize("action", ["flush", "verify", "restore"])
def test_progress_bar_is_shown_on_a_terminal(action: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    if action != "flush":
        run("flush")
    terminal = Terminal()
    run(action, "tbest", err=terminal)
    assert "tbest: " in terminal.getvalue()
    assert "1/" in terminal.getvalue() or "1 rows" in terminal.getvalue()


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_is_documented_with_all_its_options(action: str) -> None:
    parser = Command().create_parser("manage.py", "backup")
    actions: Any = parser._subparsers._group_actions[0].choices
    assert set(actions) == set(ACTIONS)
    page = (command.ROOT / "docs" / "mirror.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `manage.py backup {action}(.*?)` \| .+ \|$", page, re.MULTILINE)
    assert row, f"docs/mirror.md does not say what {action} does"
    own = {option for a in actions[action]._actions for option in a.option_strings if option.startswith("--")}
    assert set(re.findall(r"--[a-z-]+", row[1])) == own - {"--help", "--json"}
