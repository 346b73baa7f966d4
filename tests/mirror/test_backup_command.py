"""``manage.py backup``: what each action prints, for people and in JSON, and the code it ends with."""

import re
from typing import Any

import pytest
from redis import Redis

from mirror import naming
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
    """One thing too few in Redis, one too many."""
    Best.objects.create(player="alice", score=3)
    redis.zadd(naming.key("tbest"), {"nobody": 1})


@pytest.mark.parametrize("action", ACTIONS)
def test_when_all_is_well_every_action_ends_with_0(action: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    run("flush")
    assert run(action, "tbest")[::2] == (0, "")
    found = run(action, "--json")
    assert (found.code, found.err) == (0, "")
    assert isinstance(found.said, list)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_name_that_does_not_exist_ends_with_2(action: str) -> None:
    found = run(action, "nonsense")
    assert (found.code, found.out) == (2, "")
    assert "there is no backup called 'nonsense'" in found.err


@pytest.mark.parametrize("action", ["flush", "verify", "restore"])
def test_without_redis_what_cannot_run_ends_with_2_and_one_line(action: str, redis_server: RedisServer) -> None:
    redis_server.kill()
    found = run(action)
    assert (found.code, found.out) == (2, "")
    assert len(found.err.splitlines()) == 1


def test_status_is_a_table_with_a_line_for_each_backup(redis: Redis) -> None:
    warm()
    play(redis, "alice", 3)
    head, line = run("status", "tbest").out.splitlines()
    assert head.split() == ["backup", "state", "marked", "oldest", "set", "aside", "last", "flush"]
    assert line.split()[:3] == ["tbest", "warm", "1"]
    assert line.split()[-1] == "never"


def test_status_in_json_has_the_names_that_are_documented(redis: Redis) -> None:
    play(redis, "alice", 3)
    [found] = run("status", "tbest", "--json").said
    assert (found["backup"], found["warm"], found["marked"], found["set_aside"]) == ("tbest", False, 1, 0)
    assert found["oldest_mark_seconds"] >= 0
    assert found["last_flush"] is None


def test_status_says_why_items_were_set_aside(redis: Redis) -> None:
    play(redis, "alice", 666)
    run("flush")
    assert "tbest alice: IntegrityError" in run("status").out


def test_status_without_redis_is_given_all_the_same(redis_server: RedisServer) -> None:
    redis_server.kill()
    found = run("status", "tbest")
    assert found.code == 0
    assert found.out.splitlines()[1].split()[:5] == ["tbest", "unknown", "?", "?", "?"]


def test_flush_says_how_many_items_it_wrote(redis: Redis) -> None:
    play(redis, "alice", 3)
    play(redis, "bob", 3)
    assert run("flush", "tbest").out == "tbest: 2 items written to SQL, 0 set aside\n"
    assert run("flush", "tbest", "--json").said == [{"backup": "tbest", "items": 0, "aside": 0, "finished": True}]
    assert marked(redis, best()) == set()


def test_flush_ends_with_1_when_something_is_set_aside_each_time_that_it_is_tried(redis: Redis) -> None:
    play(redis, "alice", 666)
    assert run("flush", "tbest")[:2] == (1, "tbest: 0 items written to SQL, 1 set aside\n")
    assert run("flush", "tbest").code == 1


def test_verify_lists_what_differs_and_ends_with_1(spoilt: None) -> None:
    found = run("verify", "tbest")
    assert found.code == 1
    assert found.out.splitlines() == [
        "tbest alice: missing: SQL says 3, Redis nothing",
        "tbest nobody: stray: SQL says nothing, Redis 1",
        "2 differences",
    ]
    assert run("verify", "tbest", "--json").said[0] == {
        "backup": "tbest", "item": "alice", "kind": "missing", "sql": "3", "redis": None,
    }  # fmt: skip


def test_restore_puts_back_and_puts_right(spoilt: None, redis: Redis) -> None:
    redis.zadd(naming.key("tbest"), {"unmarked": 7})
    found = run("restore", "tbest")
    assert found.code == 0
    assert found.out.splitlines()[0] == "tbest: 1 item looked at"
    assert found.out.splitlines()[-1] == "2 differences"
    assert scores() == scores_in(redis) == {"alice": 3, "unmarked": 7}
    assert run("restore", "tbest", "--json").said == [{"backup": "tbest", "items": 2, "done": True, "put_right": 0}]


def test_restore_without_doing_it_only_says_so_and_ends_with_1(spoilt: None, redis: Redis) -> None:
    found = run("restore", "tbest", "--dry-run")
    assert found.code == 1
    assert found.out.endswith("2 differences\n")
    assert scores_in(redis) == {"nobody": 1}


def test_restore_says_what_it_could_not_put_right(spoilt: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BestBackup, "drop", lambda *args: None)
    found = run("restore", "tbest")
    assert found.code == 1
    assert found.err.splitlines() == [
        "tbest nobody: stray: SQL says nothing, Redis 1",
        "1 item could not be put right",
    ]


@pytest.mark.parametrize("action", ["flush", "verify", "restore"])
def test_on_a_terminal_there_is_a_bar(action: str, redis: Redis) -> None:
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
