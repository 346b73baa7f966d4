"""Log files of expired months: what they contain, and the removal of a user. All other lines stay."""

import gzip
from datetime import date
from pathlib import Path

import pytest

from loginlog.archive import log_files
from loginlog.archive.log_files import Line
from loginlog.names import MonthName

OCTOBER = date(2017, 10, 1)


def month(user_id: int, kind: str = "client") -> Line:
    return Line(MonthName(OCTOBER, kind, user_id), 6)


def write(folder: Path, *lines: Line) -> Path:
    path = log_files.write_file(folder, OCTOBER, lines)
    assert path is not None
    return path


def test_a_line_has_the_name_and_the_bits(tmp_path: Path) -> None:
    path = write(tmp_path, Line(MonthName(OCTOBER, "client", 1001), 0x40))
    assert (
        gzip.decompress(path.read_bytes())
        == b"# diptych login log 2, 2017-10\nloginLog_2017-10_client_1001\t00000040\n"
    )


def test_a_file_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    path = tmp_path / "2017-10.log.gz"
    text = (
        b"# diptych login log 1, 2017-10\nloginLog_2017-10_client_1001\t3\t00000040\n"
        b"loginDay_2017-10-25_client:0\t-\t5000\n"
    )
    path.write_bytes(gzip.compress(text))
    assert [line for _, line in log_files.read_lines(path)] == [Line(MonthName(OCTOBER, "client", 1001), 0x40)]
    assert log_files.remove_user(path, 1001)
    assert not path.exists()


def test_only_the_lines_of_the_user_are_removed(tmp_path: Path) -> None:
    path = write(tmp_path, month(5), month(55), month(5, "office"))
    assert log_files.remove_user(path, 5)
    assert [line for _, line in log_files.read_lines(path)] == [month(55)]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_without_the_user_is_not_touched(tmp_path: Path) -> None:
    path = write(tmp_path, month(55))
    before = path.stat()
    assert not log_files.remove_user(path, 5)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_of_the_user_alone_is_removed(tmp_path: Path) -> None:
    path = write(tmp_path, month(5))
    assert log_files.remove_user(path, 5)
    assert not path.exists()


def test_a_damaged_file_is_reported_and_kept(tmp_path: Path) -> None:
    path = write(tmp_path, month(5), month(6))
    path.write_bytes(raw := path.read_bytes()[:-4])
    with pytest.raises(log_files.BadFile, match=str(path)):
        log_files.remove_user(path, 5)
    assert path.read_bytes() == raw


@pytest.mark.parametrize("name", ["2017-10_client_99999999999999999999", f"2017-10_{'x' * 21}_1", "2017-10_client_-1"])
def test_a_name_that_sql_cannot_hold_is_reported_with_its_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "2017-10.log.gz"
    path.write_bytes(gzip.compress(f"# diptych login log 2, 2017-10\nloginLog_{name}\t00000040\n".encode()))
    with pytest.raises(log_files.BadFile, match=f"{path}, line 2: .*{name}"):
        list(log_files.read_lines(path))
