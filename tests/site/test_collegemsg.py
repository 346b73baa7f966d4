"""Parsing of CollegeMsg files."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from catalog.importer.files import BadFile
from demo.collegemsg import Message, invent_text, read_messages


def written(folder: Path, text: str) -> Path:
    path = folder / "CollegeMsg.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_line_is_parsed_as_a_message_with_its_time(tmp_path: Path) -> None:
    path = written(tmp_path, "1 2 1082040961\n3 4 1082155839\n")
    assert list(read_messages(path)) == [
        Message(1, 2, datetime(2004, 4, 15, 14, 56, 1, tzinfo=UTC), 1),
        Message(3, 4, datetime(2004, 4, 16, 22, 50, 39, tzinfo=UTC), 2),
    ]


def test_blank_lines_and_extra_spaces_are_ignored(tmp_path: Path) -> None:
    path = written(tmp_path, "\n1\t2   1082040961\r\n\n  \n3 4 1082155839")
    assert [(m.source, m.line) for m in read_messages(path)] == [(1, 2), (3, 5)]


def test_lines_after_the_limit_are_not_parsed(tmp_path: Path) -> None:
    path = written(tmp_path, "1 2 1082040961\n3 4 1082155839\nnonsense\n")
    assert len(list(read_messages(path, limit=2))) == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 2", "line 2: three columns are expected (SRC DST UNIXTS), there are 2"),
        ("1 2 3 4", "line 2: three columns are expected (SRC DST UNIXTS), there are 4"),
        ("x 2 1082040961", "line 2, column SRC: 'x' is not"),
        ("1 0 1082040961", "line 2, column DST: '0' is not"),
        ("1 2 1e9", "line 2, column UNIXTS: '1e9' is not"),
        ("1 2 -5", "line 2, column UNIXTS: '-5' is not"),
        ("1 2 999999999999999", "line 2, column UNIXTS: '999999999999999' is not"),
        ("1 ² 1082040961", "line 2, column DST"),
    ],
)
def test_bad_line_is_reported_with_its_column(tmp_path: Path, line: str, said: str) -> None:
    path = written(tmp_path, f"1 2 1082040961\n{line}\n")
    with pytest.raises(BadFile) as caught:
        list(read_messages(path))
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"nothing\.txt: No such file"):
        list(read_messages(tmp_path / "nothing.txt"))


def test_invented_texts_are_reproducible_varied_and_short() -> None:
    texts = [invent_text(line) for line in range(1, 60_001)]
    assert texts == [invent_text(line) for line in range(1, 60_001)]
    assert len(set(texts)) == len(set(texts[:12_155])) == 12_155
    assert max(map(len, texts)) < 200
    assert not any(mark in said for said in texts for mark in "#@<>{}")
