"""Flushes and expiries that stop at any step, by an exception or SIGKILL, lose no bit."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from redis import Redis

from loginlog import keys, services
from loginlog.archive import expiry, loading, log_files
from loginlog.models import DayBits, MonthBits
from loginlog.storage import dense_ids
from loginlog.storage import sql as store
from loginlog.storage.bitmaps import SEGMENT
from mirror.backup import marks
from mirror.backup.verify import verify
from tests.support.loginlog.tools import (
    Row,
    StopAt,
    Stopped,
    ago,
    assert_selectors_agree,
    backup,
    keys_of,
    make_user,
    restore_login_log,
    sync,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_postgres]
ROOT = Path(__file__).resolve().parents[2]
FLUSH_STEPS = ["claim", "read", "check", "save", "keep", "clear"]
EXPIRY_STEPS = ["flush", "write", "remove", "removed", "forget"]
LEAP = date(2020, 2, 29)
RANGE = (date(2020, 1, 1), ago(0))


@pytest.fixture
def rows() -> set[Row]:
    """Mark logins of today and of a leap day, by two users and as two types, in Redis alone."""
    alice, bob = make_user("alice"), make_user("bob", "office")
    found = {
        (alice.pk, "client", ago(0)),
        (alice.pk, "client", LEAP),
        (bob.pk, "office", LEAP),
        (bob.pk, "client", LEAP),
    }
    restore_login_log()
    assert services.mark_logins(sorted(found)) == 4
    return found


def check(rows: set[Row], redis: Redis) -> None:
    """Check that no login is lost, and that after complete runs SQL alone has all of them."""
    users = {row[0] for row in rows}
    assert_selectors_agree(rows, users, [RANGE, (LEAP, LEAP)])
    sync()
    assert redis.zcard(backup().marks()) == 0
    assert verify(backup()) == []
    expiry.expire_months(31)
    assert_selectors_agree(rows, users, [RANGE, (LEAP, LEAP)])
    assert keys_of(redis, "loginLog_2020") == keys_of(redis, "loginDay_2020") == []
    redis.flushdb()
    assert_selectors_agree(rows, users, [RANGE, (LEAP, LEAP)])
    restore_login_log()
    assert_selectors_agree(rows, users, [RANGE, (LEAP, LEAP)])


@pytest.mark.parametrize("step", FLUSH_STEPS)
def test_a_flush_that_stops_at_any_step_loses_nothing(step: str, rows: set[Row], redis: Redis) -> None:
    with pytest.raises(Stopped):
        sync(step=StopAt(step))
    assert redis.zcard(backup().marks()) == 7  # marks are cleared only after SQL was read back
    check(rows, redis)


@pytest.mark.parametrize(("step", "count"), [*((step, 1) for step in EXPIRY_STEPS), ("removed", 2)])
def test_an_expiry_that_stops_at_any_step_loses_nothing(step: str, count: int, rows: set[Row], redis: Redis) -> None:
    with pytest.raises(Stopped):
        expiry.expire_months(31, step=StopAt(step, count))
    check(rows, redis)


@pytest.mark.parametrize("step", EXPIRY_STEPS)
def test_a_login_during_an_expiry_is_kept(step: str, rows: set[Row], redis: Redis) -> None:
    carol, day = make_user("carol"), date(2020, 2, 3)
    rows |= {(carol.pk, "client", day), (carol.pk, "client", LEAP)}

    def late(name: str) -> None:
        if name == step:
            services.mark_login(carol, day)
            services.mark_login(carol, LEAP)

    expiry.expire_months(31, step=late)
    check(rows, redis)


@pytest.mark.parametrize("step", ["flush", "write", "remove", "removed", "forget"])
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


def after_it_is_written(work: Callable[[], object]) -> Callable[[str], None]:
    """Return a step hook that runs ``work`` after the file is written and before bitmaps are removed."""
    return lambda name: work() if name == "remove" else None  # type: ignore[return-value]


def test_a_bit_that_the_file_lacks_keeps_its_bitmap(rows: set[Row], redis: Redis) -> None:
    of_user = keys.month(LEAP.replace(day=1), "client", min(rows)[0])
    of_day = keys.day(LEAP, "office")
    (done,) = expiry.expire_months(
        31, step=after_it_is_written(lambda: [redis.setbit(k, 5, 1) for k in (of_user, of_day)])
    )
    assert (done.removed, done.kept) == (3, 2)
    assert redis.exists(of_user, of_day) == 2


def test_a_mark_keeps_its_bitmap(rows: set[Row], redis: Redis) -> None:
    user = min(rows)[0]
    segment = dense_ids.get_dense_id(user)[0] // SEGMENT
    items = [f"loginLog_2020-02_client_{user}", f"loginDay_2020-02-29_client:{segment}"]
    (done,) = expiry.expire_months(31, step=after_it_is_written(lambda: marks.mark(backup(), redis, items)))
    assert (done.removed, done.kept) == (3, 2)
    assert keys_of(redis, "loginDay_2020") == ["loginDay_2020-02-29_client"]
    assert keys_of(redis, "loginLog_2020") == items[:1]


def test_a_bit_set_right_before_the_removal_stays(
    rows: set[Row], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = expiry._MonthExpiry._same

    def looked(*args: Any) -> Any:
        found = same(*args)
        for line in found:
            redis.setbit(line.item.key, 6, 1)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(expiry._MonthExpiry, "_same", looked)
        (done,) = expiry.expire_months(31)
    assert (done.removed, done.kept) == (0, 5)
    assert len(keys_of(redis, "loginLog_2020")) == 3


def test_items_that_sql_lost_stay_marked(rows: set[Row], redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(store, "_merge_segments", lambda found: None)
        sync()
    assert redis.zcard(backup().marks()) == 3  # the segments of days
    sync(again=True)
    check(rows, redis)


def test_a_log_file_restores_everything_without_redis_and_sql(rows: set[Row], redis: Redis) -> None:
    (done,) = expiry.expire_months(31)
    assert done.file is not None
    assert done.removed == 5
    MonthBits.objects.filter(month__lt=ago(31)).delete()
    DayBits.objects.filter(day__lt=ago(31)).delete()
    assert loading.load_file(done.file) == 5
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


def test_a_bit_that_sql_lacks_keeps_its_bitmap_in_redis(rows: set[Row], redis: Redis) -> None:
    sync()
    DayBits.objects.filter(day=LEAP, user_type="client").update(bits=b"")
    (done,) = expiry.expire_months(31)
    assert done.kept == 1
    assert keys_of(redis, "loginDay_2020") == ["loginDay_2020-02-29_client"]
