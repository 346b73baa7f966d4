"""Removal of a user from the log files of expired months. All other lines stay."""

from datetime import date
from pathlib import Path

import pytest

from loginlog.archive import log_files
from loginlog.archive.log_files import Line
from loginlog.storage.items import DaySegment, LoginMonth
from loginlog.storage.tombstones import Known

pytestmark = pytest.mark.on_sqlite
OCTOBER = date(2017, 10, 1)


def month(user_id: int, kind: str = "client") -> Line:
    return Line(LoginMonth(OCTOBER, kind, user_id), Known(user_id % 7, 6))


DAY = Line(DaySegment(date(2017, 10, 25), "client", 0), b"\x50")


def write(folder: Path, *lines: Line) -> Path:
    path = log_files.write_file(folder, OCTOBER, lines)
    assert path is not None
    return path


def test_only_the_lines_of_the_user_are_removed(tmp_path: Path) -> None:
    path = write(tmp_path, month(5), month(55), month(5, "office"), DAY)
    assert log_files.remove_user(path, 5)
    assert [line for _, line in log_files.read_lines(path)] == [month(55), DAY]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_without_the_user_is_not_touched(tmp_path: Path) -> None:
    path = write(tmp_path, month(55), DAY)
    before = path.stat()
    assert not log_files.remove_user(path, 5)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_of_the_user_alone_is_removed(tmp_path: Path) -> None:
    path = write(tmp_path, month(5))
    assert log_files.remove_user(path, 5)
    assert not path.exists()


def test_a_damaged_file_is_reported_and_kept(tmp_path: Path) -> None:
    path = write(tmp_path, month(5), DAY)
    path.write_bytes(raw := path.read_bytes()[:-4])
    with pytest.raises(log_files.BadFile, match=str(path)):
        log_files.remove_user(path, 5)
    assert path.read_bytes() == raw
