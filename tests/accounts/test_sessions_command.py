"""``manage.py sessions clean`` and its task."""

import json
import os
import subprocess
import sys
from argparse import ArgumentTypeError
from pathlib import Path

import pytest
from django.conf import settings as site
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import tasks
from accounts.management.commands.sessions import parse_limit
from accounts.sessions import cleaning
from mirror.redis.clients import relay_client
from mirror.redis.lease import lease
from tests.support.accounts.digests import (
    digest,
    make_sessions,
    read_recent_digests,
    read_stored_digests,
    set_last_seen,
)
from tests.support.mirror.command import Ran
from tests.support.mirror.command import run as run_command
from tests.support.servers import RedisServer
from tests.support.timings import Timings

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def no_progress(timings: Timings) -> None:
    """Keep slow commands from printing their progress."""
    timings(PROGRESS_SECONDS=3600.0)


def run(*arguments: str) -> Ran:
    """Run ``sessions`` with these arguments, in this process."""
    return run_command(*arguments, name="sessions")


def from_shell(*arguments: str) -> Ran:
    """Run the command in a new process, without a usable database."""
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.support.settings"}
    command = [sys.executable, "-W", "ignore", "manage.py", "sessions", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def test_the_command_reports_its_result(redis: Redis) -> None:
    sessions, expired = make_sessions(5), make_sessions(2, start=5, expired=True)
    set_last_seen(redis, [digest(99), *sessions, *expired])
    assert run("clean", "--limit", "3") == Ran(
        0, "4 sessions ended: 2 beyond the limit of 3, 2 expired; 1 strays; 3 left\n", ""
    )
    assert read_recent_digests(redis) == read_stored_digests() == set(sessions[2:])


def test_the_command_reports_in_json(redis: Redis) -> None:
    set_last_seen(redis, make_sessions(5))
    found = run("clean", "--limit", "3", "--json")
    assert json.loads(found.out) == {"limit": 3, "removed": 2, "expired": 0, "strays": 0, "left": 3, "over": 0}


def test_the_default_limit_comes_from_the_settings(redis: Redis, settings: Settings) -> None:
    settings.SESSION_LIMIT = 4
    set_last_seen(redis, make_sessions(5))
    assert json.loads(run("clean", "--json").out)["removed"] == 1


def test_the_default_setting_keeps_ten_million_sessions() -> None:
    assert site.SESSION_LIMIT == 10_000_000


def test_a_dry_run_changes_nothing(redis: Redis) -> None:
    sessions = make_sessions(5) + make_sessions(2, start=5, expired=True)
    set_last_seen(redis, sessions)
    assert run("clean", "--limit", "3", "--dry-run").out == "7 sessions: 4 beyond the limit of 3, 2 expired\n"
    assert json.loads(run("clean", "--limit", "9", "--dry-run", "--json").out) == {
        "left": 7,
        "over": 0,
        "limit": 9,
        "expired": 2,
    }
    assert read_recent_digests(redis) == read_stored_digests() == set(sessions)


@pytest.mark.parametrize("limit", ["-1", "many", "1.5", "", "٣"])
def test_an_invalid_limit_raises_an_error(limit: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a valid number of sessions"):
        parse_limit(limit)


def test_an_invalid_limit_prints_one_line() -> None:
    found = from_shell("clean", "--limit=many")
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert "'many' is not a valid number of sessions" in found.err


def test_a_missing_action_is_an_error() -> None:
    found = from_shell()
    assert (found.code, found.err.count("\n")) == (2, 1)


def test_help_lists_actions_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help").code == 0
    assert "clean" in capsys.readouterr().out
    assert run("clean", "--help").code == 0
    assert "--limit" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--dry-run"], ["--json"]])
def test_the_error_without_redis_is_one_line(redis_server: RedisServer, arguments: list[str]) -> None:
    sessions = make_sessions(3)
    redis_server.kill()
    found = run("clean", "--limit", "1", *arguments)
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert found.err.startswith("ConnectionError: ")
    assert read_stored_digests() == set(sessions)


def test_the_task_keeps_the_limit(redis: Redis, settings: Settings) -> None:
    settings.SESSION_LIMIT = 2
    sessions = make_sessions(5)
    set_last_seen(redis, sessions)
    assert tasks.clean_sessions() == 3
    assert read_recent_digests(redis) == read_stored_digests() == set(sessions[3:])
    assert tasks.clean_sessions() == 0


def test_the_task_skips_while_another_process_holds_the_lease(redis: Redis, settings: Settings) -> None:
    settings.SESSION_LIMIT = 2
    set_last_seen(redis, make_sessions(5))
    with lease(relay_client(), "sessions", 3600):
        assert tasks.clean_sessions() == 0
    assert tasks.clean_sessions() == 3


def test_the_task_continues_in_the_next_run_when_its_budget_is_spent(
    redis: Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SESSION_LIMIT = 0
    monkeypatch.setattr(cleaning, "SESSIONS_PER_SLICE", 100)
    settings.SESSION_CLEAN_SECONDS = 0.0
    set_last_seen(redis, make_sessions(300))
    assert tasks.clean_sessions() == 0
    settings.SESSION_CLEAN_SECONDS = 3600.0
    assert tasks.clean_sessions() == 300


def test_the_task_skips_while_redis_is_away(redis_server: RedisServer, settings: Settings) -> None:
    settings.SESSION_LIMIT = 0
    make_sessions(3)
    redis_server.kill()
    assert tasks.clean_sessions() == 0
    redis_server.start()
    assert tasks.clean_sessions() == 3


def test_beat_schedules_the_task() -> None:
    assert site.CELERY_BEAT_SCHEDULE["clean-sessions"]["task"] == tasks.clean_sessions.name
