"""``manage.py loginlog``."""

import gzip
import io
import json
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command
from pytest_django.fixtures import Settings
from redis import Redis

from loginlog import selectors, services
from loginlog.models import LoginMonth
from mirror.relay import drains
from tests.support.loginlog.tools import ago, keys_of, make_user, mirror_logins
from tests.support.servers import RedisServer

pytestmark = pytest.mark.django_db(transaction=True)


class Ran(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> Any:
        """Parse stdout, which must be only JSON."""
        return json.loads(self.out)


def run(*arguments: str) -> Ran:
    """Run the command and return its outcome."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command("loginlog", *arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())


def test_users_are_given_by_name_in_any_case_or_by_id() -> None:
    user = make_user("Ken Thompson")
    assert run("mark", "KEN thompson", "--date", "2017-10-25", "--json").said["new"] is True
    assert run("mark", str(user.pk), "--date", "2017-10-25", "--json").said["new"] is False
    assert run("mark", "ken thompson").code == 0
    said = run("user", "ken thompson", "--from", "2017-10-25", "--to", "2017-10-25", "--json").said
    assert said == {"user": "Ken Thompson", "id": user.pk, "days": ["2017-10-25"]}
    said = run("active", "--from", "2017-10-01", "--to", "2017-10-31", "--type", "client", "--json").said
    assert (said["count"], said["users"]) == (1, [{"id": user.pk, "name": "Ken Thompson"}])
    assert run("active", "--from", "2017-10-01", "--to", "2017-10-31", "--type", "office", "--json").said["count"] == 0
    assert "2017-10-25" in run("user", "ken thompson", "--from", "2017-10-01", "--to", "2017-10-31").out
    assert "Ken Thompson" in run("active", "--from", "2017-10-01", "--to", "2017-10-31").out


@pytest.mark.only_on("single")  # it looks at the marks or keys of one Redis by name
def test_sync_expire_load_and_erase(redis: Redis) -> None:
    mirror_logins()
    user = make_user("alice")
    services.mark_login(user, date(2017, 10, 25))
    services.mark_login(user)
    said = run("sync", "--json").said
    assert (said["months"][-1], said["rows"], said["repaired"]) == (f"{ago(0):%Y-%m}", 1, 0)
    redis.delete(*redis.scan_iter("*loginLog_*"))
    assert run("sync", "--json").said["repaired"] == 1
    assert keys_of(redis, "loginLog_") == [f"loginLog_{ago(0):%Y-%m}_client_{user.pk}"]
    assert "0 differences repaired" in run("sync").out
    (done,) = run("expire", "--older-than", "31", "--json").said
    assert (done["month"], done["removed"], done["kept"]) == ("2017-10", 1, 0)
    assert len(keys_of(redis, "loginLog_")) == 1
    assert "no month is old enough" in run("expire").out
    assert run("load", done["file"], "--json").said == {"loaded": 1, "left_out": 0}
    drains.drain_all()
    assert f"loginLog_2017-10_client_{user.pk}" in keys_of(redis, "loginLog_")
    assert run("expire", "--from-sql", "--json").said[0]["removed"] == 1
    assert not LoginMonth.objects.filter(month__lt=ago(62)).exists()
    assert run("load", done["file"]).out == "1 bitmap loaded\n"
    assert run("erase", "alice", "--json").said["erased"] is True
    assert selectors.find_login_days(user, date(2017, 10, 25), ago(0)) == []
    assert "nothing to erase" in run("erase", "alice").out


def test_unmark_removes_a_login(redis: Redis) -> None:
    user = make_user("alice")
    mirror_logins()
    run("mark", "alice", "--date", "2017-10-25")
    said = run("unmark", "ALICE", "--date", "2017-10-25", "--json").said
    assert said == {"user": "alice", "id": user.pk, "day": "2017-10-25", "removed": True}
    assert run("unmark", "alice", "--date", "2017-10-25") == (0, "alice: there was no login on 2017-10-25\n", "")
    run("mark", "alice", "--date", "2017-10-25")
    assert run("unmark", "alice", "--date", "2017-10-25").out == "alice: the login on 2017-10-25 was removed\n"


def test_unmark_works_while_redis_is_away(redis_server: RedisServer) -> None:
    user = make_user("alice")
    services.mark_login(user, date(2017, 10, 25))
    redis_server.kill()
    assert run("unmark", "alice", "--date", "2017-10-25", "--json").said["removed"] is True
    assert "there was no login" in run("unmark", "alice", "--date", "2017-10-25").out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["mark", "nobody"], "'nobody'"),
        (["mark", "99999999999999999999"], "99999999999999999999"),
        (["mark", "alice", "--date", "2017-02-29"], "'2017-02-29'"),
        (["mark", "alice", "--date", "yesterday"], "'yesterday'"),
        (["mark", "alice", "--date", "1926-01-01"], "1926-01-01 is not between 1970-01-01 and today"),
        (["mark", "alice", "--date", "9999-12-31"], "9999-12-31 is not between 1970-01-01 and today"),
        (["unmark", "alice", "--date", "9999-12-31"], "9999-12-31 is not between 1970-01-01 and today"),
        (["unmark", "nobody", "--date", "2017-10-25"], "'nobody'"),
        (["user", "alice", "--from", "2017-10-02", "--to", "2017-10-01"], "before it begins"),
        (["active", "--from", "0001-01-01", "--to", "9999-12-31"], "100 years"),
        (["active", "--from", "20", "--to", "2017-10-01"], "'20'"),
        (["expire", "--older-than", "30"], "31"),
        (["load", "/nowhere/2017-10.log.gz"], "/nowhere/2017-10.log.gz: No such file or directory"),
        (["load", "/"], "/: Is a directory"),
    ],
)
def test_invalid_arguments_are_one_line_and_exit_code_2(arguments: list[str], text: str) -> None:
    make_user("alice")
    for json_too in ([], ["--json"]):
        found = run(*arguments, *json_too)
        assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
        assert text in found.err


HEAD = b"# diptych login log 2, 2017-10\n"
FORMER = b"# diptych login log 1, 2017-10\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "line 0"),
        (b"x\n", "line 1"),
        (HEAD + b"loginLog_2017-10_client_1\n", "line 2"),
        (HEAD + b"loginLog_2017-13_client_1\t00000040\n", "line 2"),
        (HEAD + b"loginLog_2017-10_client_1\tzz\n", "line 2"),
        (HEAD + b"loginLog_2017-10_client_1\t80000000\n", "line 2"),
        (HEAD + b"loginLog_2017-10_client_1\t00000040\nloginDay_2017-10-25_client:0\t40\n", "line 3"),
        (HEAD + b"loginLog_2017-10_client_1\t1\t00000040\n", "line 2"),
        (FORMER + b"loginLog_2017-10_client_1\t00000040\n", "line 2"),
        (FORMER + b"loginlog:erased:0\t-\t40\n", "line 2"),
        (HEAD + b"loginLog_2017-10_client_1\t00000040", "line 2"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_reported_with_its_line(content: bytes, text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.log.gz"
    path.write_bytes(gzip.compress(content) if content else b"")
    found = run("load", str(path))
    assert (found.code, found.err.count("\n")) == (2, 1)
    assert str(path) in found.err
    assert text in found.err


def test_an_unwritable_folder_is_reported(tmp_path: Path, settings: Settings) -> None:
    settings.LOGINLOG_FOLDER = tmp_path / "file"
    settings.LOGINLOG_FOLDER.touch()
    services.mark_login(make_user("alice"), date(2017, 10, 25))
    found = run("expire")
    assert (found.code, found.err) == (2, f"{settings.LOGINLOG_FOLDER}: File exists\n")


def test_a_huge_age_expires_nothing() -> None:
    services.mark_login(make_user("alice"), date(2017, 10, 25))
    assert run("expire", "--older-than", "9" * 20) == (0, "no month is old enough\n", "")


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    services.mark_login(make_user("alice"), date(2017, 10, 25))
    (done,) = run("expire", "--json").said
    whole = Path(done["file"]).read_bytes()
    path = tmp_path / "half.log.gz"
    for content in (whole[: len(whole) // 2], whole[:-6], b"no gzip at all"):
        path.write_bytes(content)
        found = run("load", str(path))
        assert (found.code, found.err.count("\n")) == (2, 1)
        assert str(path) in found.err


def test_every_action_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for action in ("mark", "unmark", "sync", "user", "active", "expire", "load", "erase"):
        with pytest.raises(SystemExit, match="0"):
            call_command("loginlog", action, "--help")
        assert "--json" in capsys.readouterr().out
