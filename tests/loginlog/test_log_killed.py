"""Expiries that stop at any step, by an exception or SIGKILL, lose no login."""

import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from django.conf import settings
from redis import Redis

from loginlog import services
from loginlog.archive import expiry, loading, log_files
from loginlog.models import LoginMonth
from mirror.read import read_from_sql
from mirror.relay import drains
from mirror.verify import runs
from tests.support.killed import Killed, before
from tests.support.loginlog.tools import (
    Row,
    ago,
    assert_selectors_agree,
    keys_of,
    make_user,
    mirror_logins,
)

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
EXPIRY_STEPS = ["write", "remove", "removed", "forget"]
LEAP = date(2020, 2, 29)
RANGE = (date(2020, 1, 1), ago(0))


@pytest.fixture
def rows() -> set[Row]:
    """Mark logins of today and of a leap day, by two users and as two types."""
    alice, bob = make_user("alice"), make_user("bob", "office")
    found = {
        (alice.pk, "client", ago(0)),
        (alice.pk, "client", LEAP),
        (bob.pk, "office", LEAP),
        (bob.pk, "client", LEAP),
    }
    mirror_logins()
    assert services.mark_logins(sorted(found)) == 4
    drains.drain_all()
    return found


def check(rows: set[Row], redis: Redis) -> None:
    """Check that no login is lost, and that after complete runs the leap day has left Redis."""
    users = {row[0] for row in rows}
    with read_from_sql():
        assert_selectors_agree(rows, users, [RANGE, (LEAP, LEAP)])
    drains.drain_all()
    assert_selectors_agree(rows, users, [RANGE, (LEAP, LEAP)])
    expiry.expire_months(31)
    assert_selectors_agree(rows, users, [RANGE, (LEAP, LEAP)])
    assert keys_of(redis, "loginLog_2020") == keys_of(redis, "loginDay_2020") == []
    assert runs.verify(["login_month"]) == []
    redis.flushdb()
    assert_selectors_agree(rows, users, [RANGE, (LEAP, LEAP)])
    mirror_logins()
    assert_selectors_agree(rows, users, [RANGE, (LEAP, LEAP)])


@pytest.mark.parametrize("step", EXPIRY_STEPS)
def test_an_expiry_that_stops_at_any_step_loses_nothing(step: str, rows: set[Row], redis: Redis) -> None:
    with pytest.raises(Killed):
        expiry.expire_months(31, step=before(step))
    check(rows, redis)


@pytest.mark.parametrize("step", EXPIRY_STEPS)
def test_a_login_during_an_expiry_is_kept(step: str, rows: set[Row], redis: Redis) -> None:
    carol, day = make_user("carol"), date(2020, 2, 3)
    rows |= {(carol.pk, "client", day), (carol.pk, "client", LEAP), (min(rows)[0], "client", day)}

    def late(name: str) -> None:
        if name == step:
            services.mark_logins([(pk, kind, each) for pk, kind, each in rows if each == day or pk == carol.pk])

    expiry.expire_months(31, step=late)
    check(rows, redis)


@pytest.mark.parametrize("step", EXPIRY_STEPS)
def test_a_killed_expiry_loses_nothing(step: str, rows: set[Row], redis: Redis, environment: dict[str, str]) -> None:
    folder = Path(settings.LOGINLOG_FOLDER)
    code = (
        "import django, os, signal, sys\n"
        "django.setup()\n"
        "from pathlib import Path\n"
        "from django.conf import settings\n"
        "from loginlog.archive import expiry\n"
        "settings.LOGINLOG_FOLDER = Path(sys.argv[1])\n"
        "die = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == sys.argv[2] else None\n"
        "expiry.expire_months(31, step=die)\n"
    )
    patient = environment | {"DJANGO_SETTINGS_MODULE": "tests.support.patient_settings"}
    done = subprocess.run([sys.executable, "-c", code, str(folder), step], cwd=ROOT, env=patient, check=False)
    assert done.returncode == -signal.SIGKILL
    redis.delete(*(name for name in redis.scan_iter("*mirror:lease*")))  # the lease would expire
    check(rows, redis)


def test_a_month_that_changes_after_its_line_was_written_stays(rows: set[Row], redis: Redis) -> None:
    user = min(rows)[0]

    def late(name: str) -> None:
        if name == "remove":
            services.mark_login_as(user, "client", date(2020, 2, 3))

    (done,) = expiry.expire_months(31, step=late)
    assert (done.removed, done.kept) == (2, 1)
    assert keys_of(redis, "loginLog_2020") == [f"loginLog_2020-02_client_{user}"]
    assert keys_of(redis, "loginDay_2020") == ["loginDay_2020-02-03_client", "loginDay_2020-02-29_client"]


def test_a_late_login_of_an_expired_month_counts(rows: set[Row], redis: Redis) -> None:
    expiry.expire_months(31)
    user, day = min(rows)[0], date(2020, 2, 3)
    assert services.mark_login_as(user, "client", day)
    check(rows | {(user, "client", day)}, redis)


def test_a_log_file_restores_everything_without_redis_and_sql(rows: set[Row], redis: Redis) -> None:
    (done,) = expiry.expire_months(31)
    assert done.file is not None
    assert (done.removed, done.kept) == (3, 0)
    (again,) = expiry.expire_months(31, from_sql=True)
    assert not LoginMonth.objects.filter(month__lt=ago(62)).exists()
    for file in (done.file, again.file):
        assert file is not None
        assert loading.load_file(file) == (3, 0)
        drains.drain_all()
        assert len(keys_of(redis, "loginLog_2020")) == 3
    check(rows, redis)


def test_an_unfinished_file_is_never_used(rows: set[Row], redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            expiry.expire_months(31)
    folder = Path(settings.LOGINLOG_FOLDER)
    assert [path.suffix for path in folder.iterdir()] == [log_files.PART_SUFFIX]
    assert keys_of(redis, "loginLog_2020")
    check(rows, redis)
    assert [path.name for path in folder.iterdir()] == ["2020-02.log.gz"]


def test_an_unreadable_file_prevents_the_removal(rows: set[Row], redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(log_files, "_encode_lines", lambda month, lines: iter([b"x\n", *(b"y\n" for _ in lines)]))
        with pytest.raises(log_files.BadFile):
            expiry.expire_months(31)
    assert len(keys_of(redis, "loginLog_2020")) == 3
    check(rows, redis)
