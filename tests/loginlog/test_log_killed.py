"""Sync and expiry stopped at each of their steps, by a raise and by SIGKILL: no bit is lost, ever."""

import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from django.conf import settings
from redis import Redis

from loginlog import expiry, linelog, loading, services
from loginlog.models import DayBits, MonthBits
from mirror.backup.verify import verify
from tests.loginlog.tools import At, Row, Stopped, ago, backup, compare, keys_of, person, put_back, sync

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
FLUSH_STEPS = ["claim", "read", "check", "save", "keep", "clear"]
EXPIRY_STEPS = ["flush", "write", "remove", "removed", "forget"]
LEAP = date(2020, 2, 29)
RANGE = (date(2020, 1, 1), ago(0))


@pytest.fixture
def rows() -> set[Row]:
    """Logins that only Redis has: of today, of a leap day, of two users and types."""
    alice, bob = person("alice"), person("bob", "office")
    marks = {
        (alice.pk, "client", ago(0)),
        (alice.pk, "client", LEAP),
        (bob.pk, "office", LEAP),
        (bob.pk, "client", LEAP),
    }
    put_back()
    assert services.mark_many(sorted(marks)) == 4
    return marks


def check(rows: set[Row], redis: Redis) -> None:
    """All is there; and after a run that is not stopped, SQL alone has it all."""
    users = {row[0] for row in rows}
    compare(rows, users, [RANGE, (LEAP, LEAP)])
    sync()
    assert redis.zcard(backup().marks()) == 0
    assert verify(backup()) == []
    expiry.expire(31)
    compare(rows, users, [RANGE, (LEAP, LEAP)])
    assert keys_of(redis, "loginLog_2020") == keys_of(redis, "loginDay_2020") == []
    redis.flushdb()
    compare(rows, users, [RANGE, (LEAP, LEAP)])
    put_back()
    compare(rows, users, [RANGE, (LEAP, LEAP)])


@pytest.mark.parametrize("step", FLUSH_STEPS)
def test_a_sync_that_ends_at_any_step_loses_nothing(step: str, rows: set[Row], redis: Redis) -> None:
    with pytest.raises(Stopped):
        sync(step=At(step))
    assert redis.zcard(backup().marks()) == 7  # a mark is cleared only after SQL was read back
    check(rows, redis)


@pytest.mark.parametrize(("step", "count"), [*((step, 1) for step in EXPIRY_STEPS), ("removed", 2)])
def test_an_expiry_that_ends_at_any_step_loses_nothing(step: str, count: int, rows: set[Row], redis: Redis) -> None:
    with pytest.raises(Stopped):
        expiry.expire(31, step=At(step, count))
    check(rows, redis)


@pytest.mark.parametrize("step", EXPIRY_STEPS)
def test_a_login_at_any_step_of_an_expiry_stays(step: str, rows: set[Row], redis: Redis) -> None:
    carol, day = person("carol"), date(2020, 2, 3)
    rows |= {(carol.pk, "client", day), (carol.pk, "client", LEAP)}

    def late(name: str) -> None:
        if name == step:
            services.mark(carol, day)
            services.mark(carol, LEAP)

    expiry.expire(31, step=late)
    check(rows, redis)


@pytest.mark.parametrize("step", ["flush", "write", "remove", "removed", "forget"])
def test_an_expiry_that_is_killed_loses_nothing(
    step: str, rows: set[Row], redis: Redis, environment: dict[str, str]
) -> None:
    folder = Path(settings.LOGINLOG_FOLDER)
    code = (
        "import django, os, signal, sys\n"
        "django.setup()\n"
        "from pathlib import Path\n"
        "from django.conf import settings\n"
        "from loginlog import expiry\n"
        "settings.LOGINLOG_FOLDER = Path(sys.argv[1])\n"
        "die = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == sys.argv[2] else None\n"
        "expiry.expire(31, step=die)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder), step], cwd=ROOT, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    redis.delete(*(name for name in redis.scan_iter("*mirror:lease*")))  # it would run out
    check(rows, redis)


def test_what_is_written_down_brings_everything_back_without_redis_and_sql(rows: set[Row], redis: Redis) -> None:
    (done,) = expiry.expire(31)
    assert done.file is not None
    assert done.removed == 5
    MonthBits.objects.filter(month__lt=ago(31)).delete()
    DayBits.objects.filter(day__lt=ago(31)).delete()
    assert loading.load(done.file) == 5
    check(rows, redis)


def test_an_unfinished_file_is_never_taken_for_a_whole_one(
    rows: set[Row], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            expiry.expire(31)
    folder = Path(settings.LOGINLOG_FOLDER)
    assert [path.suffix for path in folder.iterdir()] == [linelog.PART]
    assert keys_of(redis, "loginLog_2020")
    check(rows, redis)
    assert [path.name for path in folder.iterdir()] == ["2020-02.log.gz"]


def test_nothing_is_removed_if_the_file_cannot_be_read_back(
    rows: set[Row], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(linelog, "_lines", lambda month, lines: iter([b"x\n", *(b"y\n" for _ in lines)]))
        with pytest.raises(linelog.BadFile):
            expiry.expire(31)
    assert len(keys_of(redis, "loginLog_2020")) == 3
    check(rows, redis)


def test_a_bit_that_sql_lacks_keeps_its_bitmap_in_redis(rows: set[Row], redis: Redis) -> None:
    sync()
    DayBits.objects.filter(day=LEAP, user_type="client").update(bits=b"")
    (done,) = expiry.expire(31)
    assert done.kept == 1
    assert keys_of(redis, "loginDay_2020") == ["loginDay_2020-02-29_client"]
